import assert from "node:assert/strict"
import { after, before, describe, test } from "node:test"
import { startEverything } from "../support/everything-server.ts"
import type { EverythingServer } from "../support/everything-server.ts"
import { sendResult, startRawServer } from "../support/mcp-server.ts"
import { resultOf } from "../support/run-plan.ts"
import { hosting } from "../support/run-source.ts"
import { runWire } from "./run-wire.ts"

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
    assert.match(report, /Checked 1 file: \d+ warnings\.\n$/)
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
    assert.match(imports, /tool quo_te_x_2j from mcp\.server\.tool\."quo\\"te \\\{\\\{ x \}\}\\u\{001b\}\[2J"/)
    assert.match(imports, /tool tool_7up from mcp\.server\.tool\."7up"/)
    assert.match(imports, /tool a_b_c_d from/)
    assert.match(imports, /tool a_b_c_d_2 from/)
    assert.doesNotMatch(imports, /^tool evil/m)
  })

  test("a server that cannot be reached, and command lines that are wrong", async () => {
    const none = await runWire(["mcp", "inspect", "http://127.0.0.1:1/mcp"])
    assert.deepEqual([none.code, none.err], [1, "http://127.0.0.1:1/mcp 127.0.0.1:1 refused the connection\n"])
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
