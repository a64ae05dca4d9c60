import assert from "node:assert/strict"
import { within } from "../../support/within.ts"
import { created, ended, happened, lapse, leaseMs, row, soon, type OnBench } from "./material.ts"

export function cancelling(onBench: OnBench): void {
  onBench("a cancel is seen by those who listen already", async ({ store, other }) => {
    const lease = await created(store)
    const called = new Promise<void>((resolve) => store.onCancel(lease.run_id, resolve))
    assert.equal(await other.requestCancel(lease.run_id), true)
    await within(soon, "the cancel", called)
    assert.equal((await row(store, lease.run_id)).cancel_requested, true)
  })

  onBench("and by those who come later, but never before they have come", async ({ store, other, clock }) => {
    const lease = await created(store)
    await other.requestCancel(lease.run_id)
    let registered = false
    const called = new Promise<boolean>((resolve) => store.onCancel(lease.run_id, () => resolve(registered)))
    registered = true
    assert.equal(await within(soon, "the cancel", called), true)
    // The process that takes the run over learns of it too.
    await lapse({ store, other, clock })
    await other.claim("owner-2", 1, leaseMs)
    await within(soon, "the cancel", new Promise<void>((resolve) => other.onCancel(lease.run_id, resolve)))
  })

  onBench("each listener hears once, however often it is asked for", async ({ store, other }) => {
    const lease = await created(store)
    let first = 0
    const called = new Promise<void>((resolve) => {
      store.onCancel(lease.run_id, () => {
        first++
        resolve()
      })
    })
    assert.equal(await store.requestCancel(lease.run_id), true)
    assert.equal(await other.requestCancel(lease.run_id), true)
    assert.equal(await store.requestCancel(lease.run_id), true)
    await within(soon, "the cancel", called)
    // When the listener that came last has been called, the first would have been called again.
    await within(soon, "the cancel", new Promise<void>((resolve) => store.onCancel(lease.run_id, resolve)))
    assert.equal(first, 1)
  })

  onBench("who stopped listening hears nothing, nor do other runs", async ({ store, other }) => {
    const [lease, another] = [await created(store), await created(store)]
    const wrong: string[] = []
    const stop = store.onCancel(lease.run_id, () => wrong.push("stopped before"))
    store.onCancel(another.run_id, () => wrong.push("another run"))
    stop()
    stop()
    await other.requestCancel(lease.run_id)
    store.onCancel(lease.run_id, () => wrong.push("stopped at once"))()
    await within(soon, "the cancel", new Promise<void>((resolve) => store.onCancel(lease.run_id, resolve)))
    assert.deepEqual(wrong, [])
  })

  onBench("a run that has ended, or never was, cannot be cancelled", async ({ store, other }) => {
    const lease = await created(store)
    await store.append(lease, [happened(1), ended(2)])
    assert.equal(await other.requestCancel(lease.run_id), false)
    assert.equal(await other.requestCancel("nobody"), false)
    assert.equal((await row(store, lease.run_id)).cancel_requested, false)
    store.onCancel("nobody", () => assert.fail("nobody was cancelled"))()
  })

  onBench("a cancel does not disturb the log", async ({ store, other }) => {
    const lease = await created(store)
    await Promise.all([
      store.append(lease, [happened(1)]),
      other.requestCancel(lease.run_id),
      store.append(lease, [happened(2)]),
    ])
    await store.append(lease, [ended(3)])
    const { last_event_id, cancel_requested } = await row(other, lease.run_id)
    assert.deepEqual({ last_event_id, cancel_requested }, { last_event_id: 3, cancel_requested: true })
  })
}
