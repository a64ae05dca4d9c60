import assert from "node:assert/strict"
import { test } from "node:test"
import { isoTime } from "../../src/base/iso-time.ts"
import type { Stored, Transport } from "../../src/adapters/nats/transport.ts"
import type { NatsStore } from "../../src/adapters/nats/nats-store.ts"
import type { LogEvent } from "../../src/log/events.ts"
import { LeaseLost, StoreFailure, type Lease } from "../../src/ports/store.ts"
import { aQuestion, ann, asked, waits } from "../contract/run-store/asking.ts"
import { BareStores, createRun } from "./bare-stores.ts"

// A process stores where its question is, fails to store the slot that asks it, and asks it again later. Another process finds that
// the question has expired, and must not take what is stored of it for a remnant.

const leaseMs = 10_000

interface Scene {
  readonly stores: BareStores
  readonly first: NatsStore
  readonly lease: Lease
  readonly events: readonly LogEvent[]
}

/**
 * The slot of the first append is not stored, or only when the owner tries to fill the same slot again. The question expires
 * meanwhile.
 */
async function failedToAsk(arrives: "never" | "late" = "never"): Promise<Scene> {
  const stores = new BareStores()
  let lost: (() => Promise<unknown>) | null = null
  const first = await stores.open((direct) => ({
    publish: async (subject, data, expected) => {
      if (subject === "sim.log.run1.1" && lost === null) {
        lost = () => direct.publish(subject, data, expected)
        throw new StoreFailure("The broker does not answer")
      }
      if (subject === "sim.log.run1.1" && arrives === "late") await lost?.()
      return direct.publish(subject, data, expected)
    },
  }))
  const lease = await createRun(first)
  const { clock } = stores
  const question = aQuestion("run1", "q1", clock, { expires_at: isoTime(clock.now() + 5_000) })
  const events = [asked(1, question), waits(2, ["q1"], clock)]
  await assert.rejects(first.append(lease, events), StoreFailure)
  stores.pass(2 * leaseMs)
  return { stores, first, lease, events }
}

/** So late that only the log can say whose the run is: a slot says that it is still the owner's. */
async function askAgainLater({ first, lease, events }: Scene): Promise<void> {
  assert.ok(await first.renew(lease, leaseMs))
  await first.append(lease, events)
}

/** The expiry is stored, and wakes the run. */
async function assertExpires(store: NatsStore, expired = 1): Promise<void> {
  assert.equal(await store.questions.expire(), expired)
  assert.equal((await store.questions.one("run1", "q1"))?.status, "expired")
  assert.deepEqual(
    (await store.claim("second", 1, leaseMs)).map(({ run_id, woken }) => ({ run_id, woken })),
    [{ run_id: "run1", woken: true }],
  )
  assert.deepEqual(
    (await store.questions.outcomes("run1")).map(({ id, status }) => ({ id, status })),
    [{ id: "q1", status: "expired" }],
  )
}

test("a question that was asked again is found by a process whose nearest node is behind", async () => {
  const scene = await failedToAsk()
  const seen = new Map<string, Stored | null>()
  const second = await scene.stores.open((direct) => ({
    last: async (stream, subject, from) => {
      if (from !== "near" || !subject.includes(".ask.q.")) return direct.last(stream, subject, from)
      const before = seen.get(subject) ?? (await direct.last(stream, subject, from))
      seen.set(subject, before)
      return before
    },
  }))
  // Nothing is decided while the process that asks may still store the slot.
  assert.equal(await second.questions.expire(), 0)
  assert.equal(seen.size, 1)
  await askAgainLater(scene)
  await assertExpires(second)
})

test("a question is asked again while another process looks at what is stored of it", async () => {
  for (const at of ["sim.log.run1.0", "sim.log.run1.1", "sim.ask.q.run1.q1"]) {
    const scene = await failedToAsk()
    let meanwhile: (() => Promise<void>) | null = () => askAgainLater(scene)
    const between = (direct: Transport): Partial<Transport> => ({
      last: async (stream, subject, from) => {
        const found = await direct.last(stream, subject, from)
        const act = subject === at ? meanwhile : null
        if (act !== null) meanwhile = null
        await act?.()
        return found
      },
    })
    const second = await scene.stores.open(between)
    const expired = await second.questions.expire()
    assert.equal(meanwhile, null, `${at} was not read`)
    await assertExpires(second, 1 - expired)
  }
})

test("a question whose slot is stored after all, after its next attempt has begun, can be answered", async () => {
  const { stores, first, lease, events } = await failedToAsk("late")
  const second = await stores.open()
  await assert.rejects(first.append(lease, events), LeaseLost)
  assert.equal((await second.questions.one("run1", "q1"))?.status, "expired")
  stores.clock.at = { ...stores.clock.at, now: 1_000 }
  assert.equal((await second.questions.answer("run1", "q1", ann))?.stored, true)
})

test("what is stored of a question that nobody asks any more is removed", async () => {
  const { stores, first, lease, events } = await failedToAsk()
  const second = await stores.open()
  // The first look at the run begins the time after which it is taken over.
  assert.deepEqual(await second.claim("second", 1, leaseMs), [])
  stores.pass(leaseMs)
  assert.equal((await second.claim("second", 1, leaseMs)).length, 1)
  assert.equal((await second.questions.waitingCounts()).questions, 1)
  assert.equal(await second.questions.expire(), 0)
  assert.equal((await second.questions.waitingCounts()).questions, 0)
  await assert.rejects(first.append(lease, events), LeaseLost)
  assert.deepEqual((await second.questions.ofRun("run1", 10, null)).found, [])
})

test("what a process stores of a question after it has lost the run does not hide one of the new owner", async () => {
  const stores = new BareStores()
  const [first, second] = [await stores.open(), await stores.open()]
  const lease = await createRun(first)
  await second.claim("second", 1, leaseMs)
  stores.pass(leaseMs)
  const [claimed] = await second.claim("second", 1, leaseMs)
  assert.ok(claimed !== undefined)
  await second.append(claimed, [asked(1, aQuestion("run1", "q2", stores.clock))])
  await assert.rejects(first.append(lease, [asked(1, aQuestion("run1", "q1", stores.clock))]), LeaseLost)
  const { found } = await second.questions.ofRun("run1", 10, null)
  assert.deepEqual(
    found.map(({ question }) => question.id),
    ["q2"],
  )
})

test("a question whose slot is damaged keeps no other question from its expiry", async () => {
  const stores = new BareStores()
  const store = await stores.open()
  const { clock } = stores
  const expires_at = isoTime(clock.now() + 5_000)
  for (const run_id of ["run1", "run2"]) {
    const lease = await createRun(store, {}, run_id)
    await store.append(lease, [asked(1, aQuestion(run_id, "q1", clock, { expires_at })), waits(2, ["q1"], clock)])
  }
  stores.broker.publish("sim.log.run1.1", Buffer.from("damaged"), null, "")
  stores.pass(5_000)
  assert.equal(await store.questions.expire(), 1)
  assert.equal((await store.questions.one("run2", "q1"))?.status, "expired")
})
