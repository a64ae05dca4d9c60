import assert from "node:assert/strict"
import { after, before, describe, test } from "node:test"
import { readAddress } from "../../src/adapters/postgres/address.ts"
import type { RunStore } from "../../src/ports/store.ts"
import { ann, aQuestion, asked, waits } from "../contract/run-store/asking.ts"
import { created, leaseMs } from "../contract/run-store/material.ts"
import { ManualClock } from "../support/manual-clock.ts"
import { startPostgres, type PostgresServer } from "../support/postgres-server.ts"
import { postgresStores } from "../support/postgres-store.ts"
import { startProxy, type Passage } from "../support/tcp-proxy.ts"
import { within } from "../support/within.ts"

// A process that dies at the commit while a run begins to wait and something comes for it: its connection to the server ends with
// that commit, or right before it. Another process must still find the run.

let server: PostgresServer
before(async () => {
  server = await startPostgres({ config: ["fsync=off"] })
})
after(() => server.close())

interface Scene {
  readonly clock: ManualClock
  /** Dies when its connection does. */
  readonly dying: RunStore
  readonly other: RunStore
  /** The dying store's next commit is its last message, or never leaves it. Resolves then. */
  dieAtCommit(passage: Passage): Promise<void>
}

async function scene(body: (scene: Scene) => Promise<void>): Promise<void> {
  const clock = new ManualClock()
  let watch: (sent: string) => Passage = () => "pass"
  const proxy = await startProxy(server.port, (sent) => watch(sent))
  const open = postgresStores(server.url(), clock)
  const read = readAddress(server.url().replace(`:${server.port}/`, `:${proxy.port}/`))
  assert.ok(read.ok)
  const [other, dying] = [await open(), await open({ address: read.address })]
  const dieAtCommit = (passage: Passage): Promise<void> =>
    new Promise((resolve) => {
      watch = (sent) => {
        if (!sent.includes("COMMIT")) return "pass"
        resolve()
        return passage
      }
    })
  try {
    await body({ clock, dying, other, dieAtCommit })
  } finally {
    await proxy.close()
    await Promise.all([other.close(), dying.close()])
  }
}

/** What a process that dies asks for is never answered, or refused when the test ends. */
function abandoned(asked: Promise<unknown>): void {
  asked.catch(() => undefined)
}

/** Another process takes the run up, at the latest when the leases of the dead one have run out. */
async function isFound({ other, clock }: Scene, run_id: string): Promise<{ readonly woken: boolean }> {
  let [claim] = await other.claim("owner-2", 10, leaseMs)
  if (claim === undefined) {
    clock.advance(leaseMs)
    ;[claim] = await other.claim("owner-2", 10, leaseMs)
  }
  assert.ok(claim?.run_id === run_id)
  return claim
}

for (const [when, passage] of [
  ["with the commit", "pass, then cut"],
  ["before the commit", "cut"],
] as const) {
  describe(`a process that dies ${when} while a run begins to wait`, { concurrency: true }, () => {
    test("an answer that came before wakes it", () =>
      scene(async (on) => {
        const lease = await created(on.dying)
        await on.dying.append(lease, [asked(1, aQuestion(lease.run_id, "q1", on.clock))])
        assert.equal((await on.other.questions.answer(lease.run_id, "q1", ann))?.stored, true)
        const died = on.dieAtCommit(passage)
        abandoned(on.dying.append(lease, [waits(2, ["q1"], on.clock)]))
        await within(30_000, "the commit", died)
        // It is parked and woken, or its owner died before it was parked, which had not seen the answer.
        await isFound(on, lease.run_id)
      }))

    test("the process that brings an answer dies: the answer counts whole or not at all", () =>
      scene(async (on) => {
        const lease = await created(on.other)
        await on.other.append(lease, [asked(1, aQuestion(lease.run_id, "q1", on.clock)), waits(2, ["q1"], on.clock)])
        const died = on.dieAtCommit(passage)
        abandoned(on.dying.questions.answer(lease.run_id, "q1", ann))
        await within(30_000, "the commit", died)
        // The lock of the dead process's transaction is free from here on.
        const again = await on.other.questions.answer(lease.run_id, "q1", ann)
        assert.equal(again?.stored, passage === "cut")
        assert.equal((await on.other.questions.one(lease.run_id, "q1"))?.status, "answered")
        assert.equal((await isFound(on, lease.run_id)).woken, true)
      }))

    test("the process that brings a cancel dies: the cancel counts whole or not at all", () =>
      scene(async (on) => {
        const lease = await created(on.other)
        await on.other.append(lease, [asked(1, aQuestion(lease.run_id, "q1", on.clock)), waits(2, ["q1"], on.clock)])
        const died = on.dieAtCommit(passage)
        abandoned(on.dying.requestCancel(lease.run_id))
        await within(30_000, "the commit", died)
        if (passage === "cut") {
          assert.deepEqual(await on.other.claim("owner-2", 10, leaseMs), [])
          assert.equal(await on.other.requestCancel(lease.run_id), true)
        }
        assert.equal((await isFound(on, lease.run_id)).woken, true)
      }))
  })
}
