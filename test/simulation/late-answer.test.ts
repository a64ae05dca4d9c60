import assert from "node:assert/strict"
import { test } from "node:test"
import type { NatsStore } from "../../src/adapters/nats/nats-store.ts"
import { StoreFailure } from "../../src/ports/store.ts"
import { ann, aQuestion, asked, waits } from "../contract/run-store/asking.ts"
import { BareStores, createRun } from "./bare-stores.ts"

// A process that stores an answer marks the run before it, and may die or stand still in between. A claim takes such a mark away when no answer has come for the
// length of a lease. An answer that comes while the claim does that must still wake the run.

const leaseMs = 10_000

/** A run that waits for the answers to some questions. */
async function waitingRun(stores: BareStores, ids: readonly string[]): Promise<void> {
  const first = await stores.open()
  const lease = await createRun(first)
  for (const [at, id] of ids.entries()) await first.append(lease, [asked(at + 1, aQuestion("run1", id, stores.clock))])
  await first.append(lease, [waits(ids.length + 1, ids, stores.clock)])
}

/** Leaves a mark and stores nothing. */
async function failToAnswer(stores: BareStores, act: (store: NatsStore) => Promise<unknown>): Promise<void> {
  const failing = await stores.open((direct) => ({
    publish: (subject, data, expected) =>
      /\.(?:news|cancel)\./.test(subject)
        ? Promise.reject(new StoreFailure("The broker does not answer"))
        : direct.publish(subject, data, expected),
  }))
  await assert.rejects(act(failing), StoreFailure)
}

/** A process that has seen the mark for the length of a lease, and takes it away: `meanwhile` happens right before that. */
async function claimWhile(
  stores: BareStores,
  meanwhile: () => Promise<void>,
  before: () => Promise<void> = () => Promise.resolve(),
): Promise<void> {
  let act: (() => Promise<void>) | null = null
  const claiming = await stores.open((direct) => ({
    erase: async (stream, seq) => {
      const now = act
      act = null
      await now?.()
      return direct.erase(stream, seq)
    },
  }))
  await claiming.claim("slow", 1, leaseMs)
  stores.pass(leaseMs)
  await before()
  act = meanwhile
  assert.deepEqual(await claiming.claim("slow", 1, leaseMs), [])
  assert.equal(act, null)
}

async function claims(stores: BareStores): Promise<readonly string[]> {
  return (await (await stores.open()).claim("another", 1, leaseMs)).map(({ run_id }) => run_id)
}

test("an answer that comes while a claim takes an old mark of the same question away wakes the run", async () => {
  const stores = new BareStores()
  await waitingRun(stores, ["q1"])
  await failToAnswer(stores, (store) => store.questions.answer("run1", "q1", ann))
  const answering = await stores.open()
  await claimWhile(stores, async () => {
    assert.equal((await answering.questions.answer("run1", "q1", ann))?.stored, true)
  })
  assert.deepEqual(await claims(stores), ["run1"])
})

test("a cancel that comes while a claim takes an old mark away wakes the run", async () => {
  const stores = new BareStores()
  await waitingRun(stores, ["q1"])
  await failToAnswer(stores, (store) => store.requestCancel("run1"))
  const cancelling = await stores.open()
  await claimWhile(stores, async () => {
    assert.equal(await cancelling.requestCancel("run1"), true)
  })
  assert.deepEqual(await claims(stores), ["run1"])
})

test("a claim leaves the new mark of another question, whose answer may be on its way", async () => {
  const stores = new BareStores()
  await waitingRun(stores, ["q1", "q2"])
  await failToAnswer(stores, (store) => store.questions.answer("run1", "q1", ann))
  // It has marked the run, stands still before the answer, and dies right after it.
  const [marked, goesOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let stored = false
  const dying = await stores.open((direct) => ({
    publish: async (subject, data, expected) => {
      if (stored) throw new StoreFailure("The process is gone")
      stored = subject.includes(".news.")
      if (stored) {
        marked.resolve()
        await goesOn.promise
      }
      return direct.publish(subject, data, expected)
    },
  }))
  let answer: Promise<void> | null = null
  const begin = async (): Promise<void> => {
    answer = assert.rejects(dying.questions.answer("run1", "q2", ann), StoreFailure)
    await marked.promise
  }
  const end = async (): Promise<void> => {
    goesOn.resolve()
    await answer
  }
  await claimWhile(stores, end, begin)
  assert.deepEqual(await claims(stores), ["run1"])
})

test("a mark without an answer is taken away after the length of a lease", async () => {
  const stores = new BareStores()
  await waitingRun(stores, ["q1"])
  await failToAnswer(stores, (store) => store.questions.answer("run1", "q1", ann))
  const claiming = await stores.open()
  assert.equal((await claiming.questions.waitingCounts()).runs, 0)
  await claiming.claim("slow", 1, leaseMs)
  stores.pass(leaseMs)
  await claiming.claim("slow", 1, leaseMs)
  assert.equal((await claiming.questions.waitingCounts()).runs, 1)
})
