import assert from "node:assert/strict"
import { mkdtempSync, rmSync } from "node:fs"
import type { ServerResponse } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, describe, it } from "node:test"
import type { Question } from "../../../src/log/events.ts"
import { folderWith, runWire } from "../../cli/run-wire.ts"
import { startServer } from "../../support/http-server.ts"
import { within } from "../../support/within.ts"
import { errorOf, startService } from "./start-service.ts"

// A tool of an api is a tool: what approvals, restarts and recordings promise holds for it too.

const directory = mkdtempSync(join(tmpdir(), "wireworks-http-tools-"))
after(() => rmSync(directory, { recursive: true }))

function answer(response: ServerResponse, value: unknown): void {
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(value))
}

describe("approvals, restarts and recordings of HTTP tools", async () => {
  let hold: PromiseWithResolvers<void> | null = null
  const api = await startServer((_, response) => {
    if (hold === null) answer(response, { ok: true })
    else hold.resolve()
  })
  after(() => api.close())

  const flow = (method: string, more = ""): string => `
api crm { endpoint: "${api.origin}" }
tool send from api.crm."${method} /notes/{id}" { input { id: string  text: maybe string } output { ok: boolean } ${more} }
dynamic { done: call tool.send { input { id: "a b"  text: "hello" } } }
output { ok: dynamic.done.ok }
`

  it("an approved call is sent once, as it was shown", async () => {
    const service = await startService()
    api.received.length = 0
    const source = flow("POST", "approval: required")
    const response = await service.post("/execute", { workflow_source: source, input: {} })
    assert.equal(response.status, 202)
    const { run_id, questions } = (await response.json()) as { run_id: string; questions: Question[] }
    const [question] = questions
    assert.ok(question !== undefined)
    const { kind, tool, server, endpoint, arguments: sent, digest } = question
    assert.deepEqual(
      { kind, tool, server, endpoint, sent },
      {
        kind: "approval",
        tool: "POST /notes/{id}",
        server: "crm",
        endpoint: api.origin,
        sent: { id: "a b", text: "hello" },
      },
    )
    assert.equal(api.received.length, 0)
    const path = `/execute/${run_id}/questions/${question.id}`
    const other = await service.post(path, { answer: { approve: true }, digest: `sha256:${"0".repeat(64)}` })
    assert.equal((await errorOf(other)).kind, "conflict")
    assert.equal((await service.post(path, { answer: { approve: true }, digest })).status, 200)
    const record = (await (await service.get(`/execute/${run_id}?wait=20`)).json()) as { output: unknown }
    assert.deepEqual(record.output, { ok: true })
    assert.deepEqual(
      api.received.map(({ method, url, body }) => [method, url, body]),
      [["POST", "/notes/a%20b", '{"text":"hello"}']],
    )
  })

  for (const { method, more, repeats } of [
    { method: "GET", more: "", repeats: true },
    { method: "PUT", more: "", repeats: true },
    { method: "POST", more: "", repeats: false },
    { method: "POST", more: "idempotent: true", repeats: true },
  ]) {
    it(`a ${method} ${more} that a restart cuts off is ${repeats ? "sent again" : "interrupted"}`, async () => {
      const settings = { STORE: "sqlite", DATA_DIR: join(directory, `${method}-${more === ""}`) }
      const first = await startService(settings)
      api.received.length = 0
      hold = Promise.withResolvers()
      const body = { workflow_source: flow(method, more), input: {}, options: {} }
      const accepted = await first.post("/execute", body, { prefer: "respond-async" })
      const { run_id } = (await accepted.json()) as { run_id: string }
      await within(30_000, "the request", hold.promise)
      await first.stop()
      hold = null
      const second = await startService(settings)
      const record = (await (await second.get(`/execute/${run_id}?wait=25`)).json()) as Record<string, unknown>
      assert.equal(record["status"], repeats ? "completed" : "failed", JSON.stringify(record))
      assert.equal(api.received.length, repeats ? 2 : 1)
      if (!repeats) assert.match(JSON.stringify(record["error"]), /was interrupted, and its outcome is unknown/)
      const keys = api.received.map(({ headers }) => headers["idempotency-key"])
      if (more === "") assert.ok(keys.every((key) => key === undefined))
      else assert.ok(keys[0] !== undefined && keys[0] === keys[1], "the key stays the same")
    })
  }

  it("a recorded answer is played without the api", async () => {
    const folder = folderWith({
      "flow.wire": flow("POST"),
      "flow.test.wire": `test "sends" { expect output.ok == true\n expect calls tool.send == 1 }\n`,
    })
    api.received.length = 0
    const recorded = await runWire(["test", "--record"], { cwd: folder })
    assert.equal(recorded.code, 0, recorded.out + recorded.err)
    assert.equal(api.received.length, 1)
    const played = await runWire(["test"], { cwd: folder })
    assert.equal(played.code, 0, played.out + played.err)
    assert.equal(api.received.length, 1, "nothing was sent")
  })
})
