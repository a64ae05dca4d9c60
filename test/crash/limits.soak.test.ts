import { LightSignal } from "../../src/base/light-signal.ts"
import assert from "node:assert/strict"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, before, test } from "node:test"
import type { JsonObject } from "../../src/base/json-value.ts"
import type { TestServer } from "../support/http-server.ts"
import { startServer } from "../support/http-server.ts"
import { within } from "../support/within.ts"
import { logOf, startChild } from "./run-child.ts"
import { openStore, startRuns } from "./service.ts"

// A run with fallback models and limits, killed with SIGKILL after each of its appends and taken over by this process.

let folder = ""
let server: TestServer

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "wire-crash-limits-"))
  server = await startServer((request, response) => {
    const body = JSON.parse(request.body) as JsonObject
    const answer = request.url === "/tool" ? `noted ${JSON.stringify(body["text"])}` : think(body)
    // So that every answer has an append of its own.
    setTimeout(() => {
      response.writeHead(answer === null ? 500 : 200, { "content-type": "application/json" })
      response.end(typeof answer === "string" ? answer : JSON.stringify(answer ?? { error: { message: "down" } }))
    }, 10)
  })
})

after(async () => {
  await server.close()
  rmSync(folder, { recursive: true, force: true })
})

/** The first model calls one tool and fails after that; the second one calls another and answers. */
function think(body: JsonObject): JsonObject | null {
  const results = (body["input"] as JsonObject[]).filter((item) => item["type"] === "function_call_output").length
  const usage = { input_tokens: 50, output_tokens: 20 }
  if (body["model"] === "shaky" && results > 0) return null
  if (body["tools"] !== undefined && results < 2) {
    const call = { type: "function_call", call_id: `c${results}`, name: "note", arguments: `{"text":"${results}"}` }
    return { output: [call], usage }
  }
  const content = [{ type: "output_text", text: JSON.stringify({ message: `after ${results}` }) }]
  return { output: [{ type: "message", role: "assistant", content }], usage }
}

test("killed after every append: no tool is called again, the reached model goes on, and all that was asked for is counted", async () => {
  for (let appends = 1; ; appends++) {
    const path = join(folder, `kill-${appends}.db`)
    const since = server.received.length
    const life = startChild({ workflow: "limits", place: path, origin: server.origin, appends, folder })
    const killed = await life.killed
    const run_id = await within(30_000, "the run's id", life.run)
    const before = await logOf(path, run_id)
    const where = `after append ${appends}, event ${before.length} (${before.at(-1)?.type ?? "none"})`
    const sinceCrash = server.received.length
    if (killed) {
      const store = await openStore(path)
      const service = startRuns(store, server.origin)
      await service.runs.recover()
      await within(30_000, `the end ${where}`, service.runs.ending(run_id, new LightSignal()))
      await service.close()
      await store.close()
    }
    const events = await logOf(path, run_id)
    const end = events.at(-1)
    assert.equal(end?.type, "workflow_completed", `${where}: ${JSON.stringify(end?.data)}`)
    if (end?.type !== "workflow_completed") return
    assert.deepEqual(end.data.output.result, { message: "after 2", each: ["after 0", "after 0"] }, where)

    const again = server.received.slice(sinceCrash)
    for (const event of before) {
      if (event.type !== "tool_call_completed") continue
      assert.ok(!again.some(({ body }) => body.includes(event.data.call_id)), `a tool was called again ${where}`)
    }
    if (before.some(({ type }) => type === "agent_fallback")) {
      assert.ok(!again.some(({ body }) => body.includes('"model":"shaky"')), `the first model was asked again ${where}`)
    }

    const asked = server.received.slice(since).filter(({ url }) => url !== "/tool")
    const started = events.filter(({ type }) => type === "model_call_started").length
    const { tokens, model_calls, tool_calls } = end.data.limits ?? {}
    // A call whose start was stored may not have been made; none was made without.
    assert.ok(asked.length <= started, `${asked.length} requests, ${started} started ${where}`)
    assert.deepEqual(model_calls, { limit: 40, used: started }, where)
    const answered = asked.filter(({ body }) => think(JSON.parse(body) as JsonObject) !== null).length
    assert.ok((tokens?.used ?? 0) >= answered * 70, `${answered} answers, ${tokens?.used} tokens ${where}`)
    assert.ok((tokens?.used ?? 0) <= 100_000, where)
    assert.equal(tool_calls?.used, events.filter(({ type }) => type === "tool_call_started").length, where)
    if (!killed) {
      assert.equal(tokens?.used, answered * 70)
      assert.ok(appends > 10, `only ${appends} appends`)
      return
    }
  }
})
