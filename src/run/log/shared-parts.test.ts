import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, describe, test } from "node:test"
import { ann, aQuestion, asked, waits } from "../../../test/contract/run-store/asking.ts"
import { created, ended, happened, leaseMs } from "../../../test/contract/run-store/material.ts"
import { allQuestions } from "../../../test/support/all-questions.ts"
import { ManualClock } from "../../../test/support/manual-clock.ts"
import { MemoryStore } from "../../adapters/memory/memory-store.ts"
import { openSqliteStore } from "../../adapters/sqlite/open-sqlite-store.ts"
import { createMasterKey } from "../../adapters/vault/vault.ts"
import type { JsonValue } from "../../base/json-value.ts"
import type { LogEvent } from "../../log/events.ts"
import type { RunStore } from "../../ports/store.ts"
import { shareParts } from "./shared-parts.ts"

const directory = mkdtempSync(join(tmpdir(), "wireworks-shared-"))
after(() => rmSync(directory, { recursive: true }))

const document = "x".repeat(50_000)
const large: JsonValue = { text: document, rows: Array.from({ length: 100 }, (_, n) => ({ n })) }
const schema = { type: "object", description: "y".repeat(2_000) }
const inbox = { caller: "", groups: [], member_of: [], status: "open", to: null, limit: 100, after: null } as const

async function eventsOf(store: RunStore, run_id: string): Promise<LogEvent[]> {
  const found: LogEvent[] = []
  for await (const event of store.follow(run_id, 0, AbortSignal.timeout(60_000))) found.push(event)
  return found
}

for (const [name, open] of [
  ["memory", (clock: ManualClock) => Promise.resolve<RunStore>(new MemoryStore(clock))],
  [
    "sqlite",
    (clock: ManualClock): Promise<RunStore> =>
      openSqliteStore({
        path: join(directory, `${randomBytes(4).toString("hex")}.db`),
        masterKey: createMasterKey(randomBytes(32)),
        clock,
      }),
  ],
] as const) {
  describe(`what questions share, store ${name}`, () => {
    test("is stored once, and every reader gets it whole", async () => {
      const clock = new ManualClock()
      const plain = await open(clock)
      const store = shareParts(plain)
      const lease = await created(store)
      const { run_id } = lease
      const shows: JsonValue[] = [
        large,
        structuredClone(large),
        "short",
        { other: large, n: 1 },
        large,
        [document, large],
      ]
      const events = shows.map((show, at) =>
        asked(at + 2, aQuestion(run_id, `q${at}`, clock, { show, schema, question: `Item ${at}?` })),
      )
      await store.append(lease, [happened(1), ...events.slice(0, 2)])
      await store.append(lease, events.slice(2))
      const stored = await plain.read(run_id, 0, 100)
      const bytes = JSON.stringify(stored).length
      // The text once, and the rows of the copy a second time.
      assert.ok(bytes > 50_000 && bytes < 60_000, `${bytes} bytes`)
      assert.deepEqual(await store.read(run_id, 0, 100, "kept"), [happened(1), ...events])
      // To the letter: an append whose answer got lost is compared with what was stored.
      assert.deepEqual(
        (await store.read(run_id, 1, 100)).map(({ data }) => JSON.stringify(data)),
        events.map(({ data }) => JSON.stringify(data)),
      )
      assert.deepEqual(
        (await allQuestions(store, run_id)).map(({ show }) => show),
        shows,
      )
      assert.deepEqual(
        (await store.questions.inbox(inbox)).found.map(({ question }) => [question.show, question.schema]),
        shows.map((show) => [show, schema]),
      )
      assert.deepEqual((await store.questions.one(run_id, "q4"))?.show, large)
      assert.deepEqual((await store.questions.answer(run_id, "q4", ann))?.question.show, large)
      await store.append(lease, [ended(8)])
      const followed = await eventsOf(store, run_id)
      assert.deepEqual(followed.slice(1, -1), await store.read(run_id, 1, 6))
      await store.close()
    })

    test("is not shared with what another process has asked, nor by an append that is made again", async () => {
      const clock = new ManualClock()
      const plain = await open(clock)
      const store = shareParts(plain)
      const lease = await created(store)
      const { run_id } = lease
      const first = asked(1, aQuestion(run_id, "q1", clock, { show: large }))
      await assert.rejects(store.append({ ...lease, fence: 99 }, [first]))
      await store.append(lease, [first])
      await assert.rejects(store.append(lease, [first]))
      await store.append(lease, [waits(2, ["q1"], clock)])
      await store.questions.answer(run_id, "q1", ann)
      const [claimed] = await store.claim("other", 1, leaseMs)
      assert.ok(claimed !== undefined)
      const second = asked(3, aQuestion(run_id, "q2", clock, { show: large }))
      await store.append(claimed, [second])
      assert.deepEqual(
        (await plain.read(run_id, 0, 10)).filter(({ data }) => "same_as" in data),
        [],
      )
      assert.deepEqual((await store.questions.one(run_id, "q2"))?.show, large)
      await store.close()
    })
  })
}
