import assert from "node:assert/strict"
import type { ServerResponse } from "node:http"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, test } from "node:test"
import { startWire } from "../cli/run-wire.ts"
import { startServer } from "../support/http-server.ts"
import { folderOf } from "../support/workflow-folder.ts"
import { within } from "../support/within.ts"

// A service is killed while a run waits for its model: what its code computed before and after is the same.

const code = `
let calls = 0
export function stamp(text) {
  console.log("stamped", text, ++calls)
  return { random: Math.random(), now: new Date().toISOString(), calls, text }
}
`

test("code computes the same after a crash", async () => {
  const data = mkdtempSync(join(tmpdir(), "wireworks-code-"))
  after(() => rmSync(data, { recursive: true, force: true }))
  const held: ServerResponse[] = []
  const asked = Promise.withResolvers<string>()
  let isHeld = true
  const model = await startServer((request, response) => {
    asked.resolve(request.body)
    if (isHeld) held.push(response)
    else {
      const content = [{ type: "output_text", text: '{"text":"done"}' }]
      const output = [{ type: "message", role: "assistant", content }]
      const answer = JSON.stringify({ output, usage: { input_tokens: 1, output_tokens: 1 } })
      response.writeHead(200, { "content-type": "application/json" }).end(answer)
    }
  })
  after(() => model.close())
  const workflow = `
function stamp(text: string): { random: number, now: string, calls: integer, text: string } from "./stamp.js"
input { items: [string] }
provider p from openai { endpoint: "${model.origin}/v1" }
model m from p { id: "m" }
dynamic { stamps: [stamp(item) for item in input.items] }
agent a { model: model.m instruction: "{{ json(dynamic.stamps) }}" output { text: string } }
output { before: agent.a.text, stamps: dynamic.stamps, again: stamp("end").random }
`
  const folder = folderOf({ "flow.wire": workflow, "stamp.js": code })
  const settings = { WIRE_PORT: "0", WIRE_STORE: "sqlite", WIRE_DATA_DIR: data, WIRE_WORKFLOWS: folder }
  const first = await startWire(["serve"], settings)
  const headers = { "content-type": "application/json", prefer: "respond-async" }
  const body = JSON.stringify({ input: { items: ["a", "b", "c"] } })
  const started = await fetch(`${first.address}/workflows/flow/execute`, { method: "POST", headers, body })
  assert.equal(started.status, 202)
  const run_id = started.headers.get("x-service-run-id") ?? ""
  const instruction = await within(30_000, "a call of the model", asked.promise)
  first.child.kill("SIGKILL")
  await first.ended
  isHeld = false
  const second = await startWire(["serve"], settings)
  after(async () => {
    second.child.kill("SIGKILL")
    await second.ended
  })
  const stream = await fetch(`${second.address}/execute/${run_id}/events`, { headers: { accept: "text/event-stream" } })
  const text = await within(60_000, "the end of the run", stream.text())
  const end = text.split("\n").find((line) => line.startsWith("data:") && line.includes('"result"')) ?? ""
  const completed = JSON.parse(end.slice("data:".length)) as {
    logs: string
    output: { result: { stamps: { calls: number }[] } }
  }
  const { stamps } = completed.output.result
  assert.deepEqual(
    stamps.map(({ calls }) => calls),
    [1, 2, 3],
  )
  assert.equal(completed.logs, "stamped end 1\n")
  // What the model was asked before the crash has the same random numbers and times.
  assert.ok(instruction.includes(JSON.stringify(JSON.stringify(stamps)).slice(2, -2)), instruction)
})
