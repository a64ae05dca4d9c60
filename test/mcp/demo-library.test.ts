import { openGate } from "../../src/ports/gate.ts"
import assert from "node:assert/strict"
import { join } from "node:path"
import { test } from "node:test"
import { McpHost } from "../../src/adapters/mcp/mcp-host.ts"
import { createEgress } from "../../src/adapters/egress/egress.ts"
import { RunFailure } from "../../src/ports/run-failure.ts"
import { folderWith, runWire } from "../cli/run-wire.ts"

const example = join(import.meta.dirname, "..", "..", "playground", "examples", "mcp-tools.wire")

test('`endpoint: "demo"` of an MCP server is a library with tools, resources and prompts', async () => {
  const folder = folderWith({ "input.json": '{ "reader": "Ada", "topic": "The owl" }' })
  // Under a policy that lets nothing of this machine be called: it is reached nevertheless.
  const { code, out, err } = await runWire(["run", example, "--input", join(folder, "input.json")], {
    env: { WIRE_EGRESS: "public" },
  })
  assert.equal(code, 0, err)
  const { found, title } = JSON.parse(out) as { found: { title: string; year: number }[]; title: string }
  assert.equal(found[0]?.title, "The Owl Papers")
  assert.equal(typeof title, "string")
})

test("an argument of a resource does not lead to another one", async () => {
  const folder = folderWith({
    "shelf.wire": `
      input { shelf: string }
      mcp library { endpoint: "demo" }
      resource shelf from mcp.library.resource.shelf
      output { books: read resource.shelf { bindings { name: input.shelf } } }`,
  })
  const read = (shelf: string): ReturnType<typeof runWire> =>
    runWire(["run", join(folder, "shelf.wire"), "--set", `shelf=${shelf}`])
  const walked = await read("..")
  assert.equal(walked.code, 1)
  assert.match(walked.err, /An argument of resource\.shelf makes a segment `\.` or `\.\.` of the URI/)
  assert.doesNotMatch((await read("../history")).err, /makes a segment/)
})

test("where the demo is switched off, a sentence says so", async (t) => {
  const egress = createEgress({ policy: { kind: "private" } })
  t.after(() => egress.close())
  const host = new McpHost({ egress, demo: null, version: "1.0.0" })
  const library = { name: "library", endpoint: "demo", headers: {} }
  const hours = { name: "hours", server: "library", remote: "opening-hours", bindings: {} }
  const request = {
    run_id: "run-1",
    owner: [],
    types: {},
    servers: [library],
    apis: [],
    tools: [],
    resources: [hours],
    prompts: [],
  }
  await assert.rejects(
    host.open(request, { signal: new AbortController().signal, gate: openGate, hide: () => {}, connected: () => {} }),
    (error) => error instanceof RunFailure && /switched off \(WIRE_DEMO\)/.test(error.message),
  )
})
