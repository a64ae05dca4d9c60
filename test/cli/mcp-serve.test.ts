import assert from "node:assert/strict"
import { join } from "node:path"
import { after, describe, test } from "node:test"
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio"
import { startServer } from "../support/http-server.ts"
import { resultOf } from "../support/run-plan.ts"
import { hosting } from "../support/run-source.ts"
import { within } from "../support/within.ts"
import { folderWith, runWire, startWire } from "./run-wire.ts"
import { builtWire } from "../support/built-wire.ts"
import { soakTest } from "../support/strength.ts"

const hanging = Promise.withResolvers<void>()
const closed = Promise.withResolvers<void>()
const model = await startServer((request, response) => {
  if (request.headers.authorization !== "Bearer the-operators-key") return response.writeHead(401).end()
  if (request.body.includes("Hang")) {
    response.on("close", () => closed.resolve())
    return hanging.resolve()
  }
  const text = JSON.stringify({ summary: request.body.includes("Second") ? "two" : "one" })
  const output = [{ type: "message", role: "assistant", content: [{ type: "output_text", text }] }]
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ output }))
})
const folder = folderWith({
  "sum up.wire": `// Sums a text up.
// In two steps.

input {
    /// What to sum up
    text: string
    words: maybe integer
}
secrets { key: string }
provider p from openai { endpoint: "${model.origin}/v1" api_key: secrets.key }
model m from p { id: "m" inference { max_retries: 0 } }
agent first { model: model.m instruction: "First {{ input.text }}" output { summary: string } }
agent second { model: model.m instruction: "Second {{ agent.first.summary }}" output { summary: string } }
output { summary: agent.second.summary, words: input.words ?? 0 }
`,
  "plain.wire": "input { a: integer }\noutput { b: input.a }\n",
  "broken.wire": "output { b: input.a }\n",
  "other/plain.wire": "output { b: 1 }\n",
  "steered.wire": `input { url: string }
secrets { key: string }
provider p from openai { endpoint: input.url api_key: secrets.key }
model m from p { id: "m" }
agent a { model: model.m instruction: "x" output { r: string } }
output { r: agent.a.r }
`,
})
after(() => model.close())

const files = (): string[] => [join(folder, "sum up.wire"), join(folder, "plain.wire")]
const env = { OPERATORS_KEY: "the-operators-key" }
const secret = ["--secret", "key=env:OPERATORS_KEY"]

describe("wire mcp serve", () => {
  for (const mode of ["legacy", "auto"] as const) {
    test(`over standard input and output, for a client of the ${mode === "auto" ? "newest" : "older"} era`, async (t) => {
      const client = new Client({ name: "test", version: "1.0.0" }, { versionNegotiation: { mode } })
      const transport = new StdioClientTransport({
        command: process.execPath,
        args: [builtWire, "mcp", "serve", ...files(), ...secret],
        env: { ...(process.env as Record<string, string>), ...env },
        stderr: "pipe",
      })
      // A process that a failed test leaves behind keeps this one alive.
      t.after(() => transport.close())
      await client.connect(transport)
      assert.equal(client.getProtocolEra(), mode === "auto" ? "modern" : "legacy")
      const { tools } = await client.listTools()
      assert.deepEqual(
        tools.map(({ name, description }) => [name, description]),
        [
          ["sum_up", "Sums a text up.\nIn two steps."],
          ["plain", "Runs the workflow plain."],
        ],
      )
      assert.deepEqual(tools[0]?.inputSchema, {
        type: "object",
        properties: {
          text: { type: "string", description: "What to sum up" },
          words: { anyOf: [{ type: "integer" }, { type: "null" }] },
        },
        required: ["text"],
        additionalProperties: false,
      })
      const reported: number[] = []
      const result = await client.callTool(
        { name: "sum_up", arguments: { text: "A text.", words: 7 } },
        { onprogress: ({ progress }) => void reported.push(progress) },
      )
      assert.deepEqual(result.structuredContent, { summary: "two", words: 7 })
      assert.deepEqual(result.content, [{ type: "text", text: '{"summary":"two","words":7}' }])
      assert.deepEqual(
        reported,
        reported.toSorted((a, b) => a - b),
      )
      // The last of them is lost when it comes together with the result.
      assert.ok(reported.length >= 1, String(reported))

      const wrong = await client.callTool({ name: "plain", arguments: { a: "x", b: 1 } })
      assert.equal(wrong.isError, true)
      assert.match(JSON.stringify(wrong.content), /input_error: .*input\.a: expected integer, found.*input\.b/)
      await assert.rejects(client.callTool({ name: "none", arguments: {} }), /Unknown tool: none/)
      await client.close()
    })
  }

  test("over HTTP: a workflow uses others as tools; a run that nobody waits for is cancelled", async (t) => {
    const service = await startWire(["mcp", "serve", ...files(), "--http", "--port", "0", ...secret], env)
    const here = hosting()
    t.after(() => here.close())
    const outcome = await here.run(
      `mcp s { endpoint: "${service.address}" }
      tool sum from mcp.s.tool.sum_up { output { summary: string, words: integer } bindings { words: 3 } }
      dynamic { d: call tool.sum { input { text: "x" } } }
      output { d: dynamic.d.summary }`,
    )
    assert.deepEqual(resultOf(outcome), { d: "two" })

    const client = new Client({ name: "test", version: "1.0.0" }, { versionNegotiation: { mode: "auto" } })
    t.after(() => client.close())
    await client.connect(new StreamableHTTPClientTransport(new URL(service.address)))
    const stop = new AbortController()
    const call = client.callTool({ name: "sum_up", arguments: { text: "Hang", words: null } }, { signal: stop.signal })
    await within(30_000, "the model's call", hanging.promise)
    stop.abort()
    await assert.rejects(call)
    await within(30_000, "the end of the model's call", closed.promise)

    const foreign = { "content-type": "application/json", origin: "https://evil.example" }
    const refused = await fetch(service.address, { method: "POST", headers: foreign, body: "{}" })
    assert.equal(refused.status, 403)
    service.child.kill("SIGTERM")
    assert.deepEqual(await service.ended, { code: 0, signal: null })
  })

  test("keys are asked for where they are set", async () => {
    const service = await startWire(["mcp", "serve", join(folder, "plain.wire"), "--http", "--port", "0"], {
      WIRE_API_KEYS: "ann:a-key",
    })
    const post = (headers: Record<string, string>): Promise<Response> =>
      fetch(service.address, {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body: "{}",
      })
    assert.equal((await post({})).status, 401)
    assert.equal((await post({ authorization: "Bearer a-key" })).status, 400)
    service.child.kill("SIGTERM")
    await service.ended
  })

  soakTest("problems are reported before anything is served", async () => {
    const broken = await runWire(["mcp", "serve", join(folder, "broken.wire")])
    assert.equal(broken.code, 1)
    assert.match(broken.err, /Unknown reference: input\.a/)
    const asking = await runWire(["mcp", "serve", join(import.meta.dirname, "../../examples/approval.wire")])
    assert.equal(asking.code, 1)
    assert.match(
      asking.err,
      /approval\.wire may wait for people or events \(`ask`, `approval`, `wait`\), and nobody could answer here/,
    )
    const twice = await runWire(["mcp", "serve", join(folder, "plain.wire"), join(folder, "other/plain.wire")])
    assert.equal(twice.code, 1)
    assert.match(twice.err, /would both be the tool plain/)
    const missing = await runWire(["mcp", "serve", ...files()])
    assert.equal(missing.code, 2)
    assert.match(missing.err, /sum up\.wire: secrets\.key.*Give it with --secret or --secrets-file/)
    const unknown = await runWire(["mcp", "serve", join(folder, "plain.wire"), ...secret], { env })
    assert.equal(unknown.code, 2)
    assert.match(unknown.err, /--secret key: no workflow has a secret of that name/)
    const steered = await runWire(["mcp", "serve", join(folder, "steered.wire"), ...secret], { env, input: "" })
    assert.equal(steered.code, 1)
    assert.match(steered.err, /steered: `input\.url` decides where provider\.p sends its calls, and .* would go there/)
    const open = await runWire(["mcp", "serve", ...files(), ...secret, "--http", "--host", "0.0.0.0", "--port", "0"], {
      env,
    })
    assert.equal(open.code, 1)
    assert.match(open.err, /would be served on 0\.0\.0\.0 without asking for keys.*Set WIRE_API_KEYS/)
    const flags = await runWire(["mcp", "serve", join(folder, "plain.wire"), "--port", "1"])
    assert.equal(flags.code, 2)
  })

  test("it ends when its client does", async () => {
    const { code, out } = await runWire(["mcp", "serve", join(folder, "plain.wire")], { input: "" })
    assert.deepEqual([code, out], [0, ""])
  })
})
