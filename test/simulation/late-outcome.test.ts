import assert from "node:assert/strict"
import { test } from "node:test"
import { StoreFailure } from "../../src/ports/store.ts"
import type { NatsStore } from "../../src/adapters/nats/nats-store.ts"
import { BareStores, createRun } from "./bare-stores.ts"

const delivered = { status: "delivered", last_error: null, due_at: 0 } as const

/** A run that notifies of its end. */
async function completeRun(store: NatsStore): Promise<void> {
  const lease = await createRun(store, { notify: { url: "https://receiver.test/hook", events: ["completed"] } })
  const at = new Date(0).toISOString()
  const data = {
    at,
    output: { result: null },
    usage: { input_tokens: 0, output_tokens: 0, cached_tokens: 0, reasoning_tokens: 0, cost: 0 },
    duration_ms: 0,
  }
  await store.append(lease, [{ id: 1, type: "workflow_completed", at, data }])
}

async function outcomes(store: NatsStore): Promise<unknown[]> {
  return (await store.outbox.ofRun("run1")).map(({ status, attempts }) => ({ status, attempts }))
}

test("the outcome of an attempt does not replace that of a later one", async () => {
  const stores = new BareStores()
  /** Comes right after the slow process has looked at the notice. */
  let meanwhile: (() => Promise<void>) | null = null
  const first = await stores.open((direct) => ({
    last: async (stream, subject, from) => {
      const found = await direct.last(stream, subject, from)
      const act = subject.includes(".outbox.due.") ? meanwhile : null
      if (act !== null) meanwhile = null
      await act?.()
      return found
    },
  }))
  const second = await stores.open()

  await completeRun(first)
  const [notice] = (await first.outbox.take(1, 15_000)).taken
  assert.equal(notice?.attempts, 1)
  stores.pass(20_000)
  meanwhile = async () => {
    const [again] = (await second.outbox.take(1, 15_000)).taken
    assert.equal(again?.attempts, 2)
    await second.outbox.settle(again, delivered)
  }
  await first.outbox.settle(notice, delivered)

  assert.equal(meanwhile, null)
  assert.deepEqual(await outcomes(second), [{ status: "delivered", attempts: 2 }])
})

test("a notice that is stored again after it was delivered is not delivered again", async () => {
  const stores = new BareStores()
  // The run stays in the list of open ones: the second process stores its notice, and removes it from the list.
  const first = await stores.open(() => ({
    erase: () => Promise.reject(new StoreFailure("The broker does not answer")),
  }))
  const third = await stores.open()
  /** Comes right before the slow process stores the notice. */
  let meanwhile: (() => Promise<void>) | null = async () => {
    const [notice] = (await third.outbox.take(1, 15_000)).taken
    assert.equal(notice?.attempts, 1)
    await third.outbox.settle(notice, delivered)
  }
  const second = await stores.open((direct) => ({
    publish: async (subject, data, expected) => {
      const act = subject.includes(".outbox.due.") ? meanwhile : null
      if (act !== null) meanwhile = null
      await act?.()
      return direct.publish(subject, data, expected)
    },
  }))

  await completeRun(first)
  await second.claim("second", 1, 10_000)
  stores.pass(10_000)
  await second.claim("second", 1, 10_000)
  assert.equal(meanwhile, null)
  assert.deepEqual((await second.outbox.take(1, 15_000)).taken, [])
  assert.deepEqual((await second.outbox.take(1, 15_000)).next_due, null)
  assert.deepEqual(await outcomes(second), [{ status: "delivered", attempts: 1 }])
})
