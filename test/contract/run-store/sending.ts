import assert from "node:assert/strict"
import { isoTime } from "../../../src/base/iso-time.ts"
import type { LogEvent } from "../../../src/log/events.ts"
import type { Clock } from "../../../src/ports/clock.ts"
import type { NewEvent } from "../../../src/ports/event-store.ts"
import { eventKey } from "../../../src/ports/waits.ts"
import { created, type OnBench } from "./material.ts"

const hour = 3_600_000

function anEvent(changes: Partial<NewEvent> = {}): NewEvent {
  const own = { caller: "ann", everyone: false, id: null, source: "", name: "paid", key: "A", data: { n: 1 } }
  return { ...own, keep_seconds: 60, ...changes }
}

function started(event: number, id: string, clock: Clock, due = clock.now() + hour): LogEvent {
  const at = isoTime(clock.now())
  return {
    id: event,
    type: "wait_started",
    at,
    data: { id, name: "paid", event: "paid", key: "A", expires_at: isoTime(due), at },
    kept: { facts: "f" },
  }
}

/** Events that callers send, and the waits that take them. */
export function sending(onBench: OnBench): void {
  onBench("an event with an id is stored once, and other contents are refused", async ({ store, other, clock }) => {
    const event = anEvent({ id: "e1" })
    const first = await store.sentEvents.receive(event)
    assert.equal(first.outcome, "stored")
    const again = await other.sentEvents.receive(event)
    assert.deepEqual(again, { ...first, outcome: "known", answer: null })
    assert.deepEqual(await other.sentEvents.receive({ ...event, data: null }), { outcome: "conflict" })
    assert.equal((await other.sentEvents.receive({ ...event, caller: "bob" })).outcome, "stored")
    assert.equal((await other.sentEvents.receive({ ...event, source: "hook" })).outcome, "stored")
    if (first.outcome !== "stored") return
    assert.deepEqual(await store.sentEvents.close(first.number, false), { delivered: 0, kept: true })
    const known = await other.sentEvents.receive(event)
    assert.deepEqual(known.outcome === "known" && known.answer, { delivered: 0, kept: true })
    clock.advance(31 * 24 * hour)
    assert.equal((await other.sentEvents.receive(event)).outcome, "stored")
  })

  onBench("a kept event is taken once, and goes on to be called kept", async ({ store, other, clock }) => {
    const [one, two] = [
      await created(store, { run_id: "one-2", caller: "" }),
      await created(store, { run_id: "two-2", caller: "" }),
    ]
    await store.append(one, [started(1, "w1", clock)])
    await other.append(two, [started(1, "w2", clock)])
    const receipt = await store.sentEvents.receive(anEvent({ id: "e", caller: "" }))
    assert.ok(receipt.outcome === "stored")
    const { number } = receipt
    await store.sentEvents.close(number, false)
    const found = await other.sentEvents.waiting("", "paid", "A")
    assert.deepEqual(
      found.map(({ status, data, id }) => [status, data, id]),
      [["kept", { n: 1 }, "e"]],
    )
    assert.deepEqual(await other.sentEvents.waiting("", "paid", "B"), [])
    const both = await Promise.all([
      store.sentEvents.deliver(number, "one-2", "w1", { n: 1 }),
      other.sentEvents.deliver(number, "two-2", "w2", { n: 1 }),
    ])
    assert.deepEqual(both.toSorted(), ["delivered", "gone"])
    assert.deepEqual(await store.sentEvents.kept("", 10, 0), [])
    assert.deepEqual(await store.sentEvents.close(number, false), { delivered: 0, kept: true })
  })

  onBench("an event that arrives goes to every open wait, to each once", async ({ store, other, clock }) => {
    const [one, two] = [
      await created(store, { run_id: "one-3", caller: "" }),
      await created(store, { run_id: "two-3", caller: "" }),
    ]
    await store.append(one, [started(1, "w1", clock)])
    await store.append(two, [started(1, "w2", clock)])
    const receipt = await store.sentEvents.receive(anEvent())
    assert.ok(receipt.outcome === "stored")
    const { number } = receipt
    const query = { kind: "event", status: "open", limit: 10, after: null } as const
    const page = await other.waits.list({ ...query, any: [{ key: eventKey("paid", "A") }] })
    assert.deepEqual(page.found.map(({ wait }) => wait.id).toSorted(), ["w1", "w2"])
    assert.equal(await store.sentEvents.deliver(number, "one-3", "w1", { n: 1 }), "delivered")
    assert.equal(await other.sentEvents.deliver(number, "one-3", "w1", { n: 1 }), "settled")
    assert.equal(await other.sentEvents.deliver(number, "two-3", "w2", { n: 2 }), "delivered")
    assert.deepEqual(await store.waits.outcomes("two-3"), [
      { kind: "event", id: "w2", status: "settled", outcome: { data: { n: 2 } } },
    ])
    assert.deepEqual(await other.sentEvents.close(number, true), { delivered: 2, kept: false })
  })

  onBench(
    "an event that a wait has taken goes to others that were open, and to none that began later",
    async ({ store, other, clock }) => {
      const lease = await created(store, { run_id: "one-5", caller: "" })
      await store.append(lease, [started(1, "w1", clock), started(2, "w2", clock)])
      const receipt = await store.sentEvents.receive(anEvent())
      assert.ok(receipt.outcome === "stored")
      const { number } = receipt
      await store.append(lease, [started(3, "w3", clock)])
      assert.equal(await other.sentEvents.deliver(number, "one-5", "w1", { n: 1 }), "delivered")
      assert.equal(await store.sentEvents.deliver(number, "one-5", "w3", { n: 1 }), "gone")
      assert.equal(await store.sentEvents.deliver(number, "one-5", "w2", { n: 1 }), "delivered")
      assert.deepEqual(await other.sentEvents.close(number, false), { delivered: 2, kept: false })
    },
  )

  onBench("a wait whose time has come takes no event; one that nobody kept is forgotten", async ({ store, clock }) => {
    const one = await created(store, { run_id: "one-4", caller: "" })
    await store.append(one, [started(1, "w1", clock, clock.now() + 1000)])
    clock.advance(1000)
    const receipt = await store.sentEvents.receive(anEvent({ keep_seconds: 0, id: "e" }))
    assert.ok(receipt.outcome === "stored")
    assert.equal(await store.sentEvents.deliver(receipt.number, "one-4", "w1", { n: 1 }), "settled")
    assert.deepEqual(await store.sentEvents.close(receipt.number, true), { delivered: 0, kept: false })
    assert.equal((await store.sentEvents.receive(anEvent({ keep_seconds: 0, id: "e" }))).outcome, "stored")
  })

  onBench(
    "kept events expire, are listed, dropped and swept; what a receiver left is found",
    async ({ store, other, clock }) => {
      const receipts = []
      for (const id of ["a", null, "c"]) receipts.push(await store.sentEvents.receive(anEvent({ id })))
      const numbers = receipts.map((receipt) => (receipt.outcome === "stored" ? receipt.number : 0))
      clock.advance(5000)
      assert.deepEqual(await other.sentEvents.unfinished(clock.now() - 4000), numbers)
      for (const number of numbers) await other.sentEvents.close(number, false)
      assert.deepEqual(await other.sentEvents.unfinished(clock.now()), [])
      const kept = await other.sentEvents.kept("ann", 2, 0)
      assert.deepEqual(
        kept.map(({ id }) => id),
        ["a", null],
      )
      assert.equal(await store.sentEvents.drop("ann", "a"), true)
      assert.equal(await store.sentEvents.drop("ann", "a"), false)
      assert.equal(await store.sentEvents.drop("bob", "c"), false)
      clock.advance(60_000)
      assert.deepEqual(await other.sentEvents.kept("ann", 10, 0), [])
      await store.sweep(0)
      assert.equal(await other.sentEvents.one(numbers[2] ?? 0), null)
    },
  )

  onBench("times of waits are due in their order", async ({ store, clock }) => {
    const due = clock.now() + 1000
    assert.equal(await store.waits.nextDue(), null)
    for (const [index, run_id] of ["late", "early"].entries()) {
      const lease = await created(store, { run_id })
      const at = isoTime(clock.now())
      const until = isoTime(due + (index === 0 ? 500 : 0))
      const wait = { id: run_id, name: "a", until }
      await store.append(lease, [
        { id: 1, type: "wait_started", at, data: { ...wait, at }, kept: { facts: "f" } },
        { id: 2, type: "run_waiting", at, data: { questions: [], batches: [], waits: [wait], at } },
      ])
    }
    assert.equal(await store.waits.nextDue(), due)
    assert.equal(await store.waits.settleDue(), 0)
    clock.advance(2000)
    assert.equal(await store.waits.settleDue(), 2)
    const claimed = await store.claim("me", 10, 60_000)
    assert.deepEqual(
      claimed.map(({ run_id }) => run_id),
      ["early", "late"],
    )
  })
}
