import assert from "node:assert/strict"
import { test } from "node:test"
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
      const act = subject.includes(".notice.") ? meanwhile : null
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
