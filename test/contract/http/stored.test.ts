import assert from "node:assert/strict"
import { mkdtempSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, describe, it } from "node:test"
import { setTimeout as pause } from "node:timers/promises"
import type { WaitingAnswer } from "../../../src/api/execute.ts"
import { errorOf, startService, type TestService } from "./start-service.ts"

const directory = mkdtempSync(join(tmpdir(), "wireworks-stored-"))
after(() => rmSync(directory, { recursive: true }))

const echo = `input { text: string }\noutput { text: input.text }\n`
const of = (caller: string) => ({ authorization: `Bearer ${caller}-key` })
const API_KEYS = "ann:ann-key,bob:bob-key"
const body = { workflow_source: echo, input: { text: "x".repeat(100_000) } }

/** Runs until one is refused; how many were not. */
async function fill(
  service: TestService,
  caller: string,
): Promise<{ readonly ran: number; readonly refused: Response }> {
  for (let ran = 0; ran < 100; ran++) {
    const response = await service.post("/execute", body, of(caller))
    if (response.status !== 200) return { ran, refused: response }
    await response.arrayBuffer()
  }
  throw new Error("No run was refused")
}

for (const store of ["memory", "sqlite"]) {
  describe(`what a caller may store, store ${store}`, () => {
    const settings = { STORE: store, API_KEYS, MAX_STORED_PER_CALLER: "1mb" }

    it("a caller over it is refused with a sentence, and others are not", async () => {
      const service = await startService({ ...settings, DATA_DIR: join(directory, store) })
      const { ran, refused } = await fill(service, "ann")
      assert.ok(ran >= 3 && ran <= 10, `${ran} runs`)
      assert.ok(refused.headers.has("retry-after"))
      const { status, kind, message } = await errorOf(refused)
      assert.deepEqual([status, kind], [429, "rate_limited"])
      assert.match(message, /1048576 bytes of the store .*WIRE_MAX_STORED_PER_CALLER.*WIRE_RETENTION/)
      assert.equal((await service.post("/execute", body, of("bob"))).status, 200)
    })

    it("retention makes room: in time a caller runs more than it may store", async () => {
      const service = await startService({ ...settings, DATA_DIR: join(directory, `${store}-kept`), RETENTION: "1s" })
      const deadline = Date.now() + 120_000
      for (let ran = 0; ran < 15;) {
        const { status } = await service.post("/execute", body, of("ann"))
        if (status === 200) ran++
        else await pause(100)
        assert.ok(Date.now() < deadline, "retention made no room")
      }
    })

    it("a run that would take too much fails, and says so", async () => {
      const folder = join(directory, `${store}-run`)
      const service = await startService({ STORE: store, DATA_DIR: folder, MAX_STORED_PER_CALLER: "1mb" })
      // Each question has another text.
      const source = `input { items: [integer]  text: string }
ask review for item in input.items { question: "{{ item }}? {{ input.text }}"  output { fine: boolean } }
output { answers: ask.review.**.fine }`
      const input = { items: Array.from({ length: 20 }, (_, at) => at), text: "x".repeat(100_000) }
      const { status, kind, message } = await errorOf(
        await service.post("/execute", { workflow_source: source, input }),
      )
      assert.deepEqual([status, kind], [422, "limit_exceeded"])
      assert.match(message, /more than the 1048576 bytes of the store .*WIRE_MAX_STORED_PER_CALLER/)
      // None was asked, and none is stored.
      const { runs } = (await (await service.get("/runs")).json()) as { runs: { run_id: string }[] }
      const asked = await service.get(`/execute/${runs[0]?.run_id ?? ""}/questions`)
      assert.deepEqual(await asked.json(), { questions: [], next: null })
    })
  })
}

describe("what is stored", () => {
  it("counts after a restart, too", async () => {
    const settings = { STORE: "sqlite", DATA_DIR: join(directory, "again"), API_KEYS, MAX_STORED_PER_CALLER: "1mb" }
    const first = await startService(settings)
    await fill(first, "ann")
    await first.stop()
    const second = await startService(settings)
    assert.equal((await second.post("/execute", body, of("ann"))).status, 429)
    assert.equal((await second.post("/execute", body, of("bob"))).status, 200)
  })

  it("of 600 questions that show the same is stored once, and counted once", async () => {
    const folder = join(directory, "shared")
    const service = await startService({ STORE: "sqlite", DATA_DIR: folder, MAX_STORED_PER_CALLER: "10mb" })
    const source = `input { items: [integer]  text: string }
ask review for item in input.items { question: "{{ item }}?"  show: { item: item  text: input.text }  output { fine: boolean } }
output { answers: ask.review.**.fine }`
    const text = "x".repeat(200_000)
    const input = { items: Array.from({ length: 600 }, (_, at) => at), text }
    const response = await service.post("/execute", { workflow_source: source, input })
    assert.equal(response.status, 202)
    const { questions, run_id } = (await response.json()) as WaitingAnswer
    assert.deepEqual(questions.at(-1)?.show, { item: 4, text })
    const bytes = ["wireworks.db", "wireworks.db-wal"].reduce((sum, file) => sum + statSync(join(folder, file)).size, 0)
    assert.ok(bytes < 10_000_000, `${bytes} bytes`)
    const record = await service.get(`/execute/${run_id}`)
    assert.equal(((await record.json()) as { status: string }).status, "waiting")
  })
})
