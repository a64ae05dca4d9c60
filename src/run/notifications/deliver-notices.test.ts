import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import { test, type TestContext } from "node:test"
import { createEgress } from "../../adapters/egress/egress.ts"
import { MemoryStore } from "../../adapters/memory/memory-store.ts"
import { noticeEvents, type Notice } from "../../ports/notices.ts"
import { wrapStore } from "../../ports/wrap-store.ts"
import { aRequest, created, ended, noOptions } from "../../../test/contract/run-store/material.ts"
import { startServer, type Received } from "../../../test/support/http-server.ts"
import { ManualClock } from "../../../test/support/manual-clock.ts"
import { within } from "../../../test/support/within.ts"
import { Notifier } from "./deliver-notices.ts"
import { noticeForMs, noticePerReceiver } from "../../base/limits.ts"

/** A run that has ended and notifies a receiver which answers like this, and a notifier on a clock that the test moves. */
async function notified(t: TestContext, answer: () => number, more: { readonly origins?: readonly string[] } = {}) {
  const clock = new ManualClock()
  const store = new MemoryStore(clock)
  const server = await startServer((_request, response) => response.writeHead(answer()).end())
  const egress = createEgress({ policy: { kind: "private" } })
  const attempts: string[] = []
  const bugs: unknown[] = []
  const lease = await created(store, {
    request: aRequest({ options: { ...noOptions, notify: { url: `${server.origin}/hook`, events: noticeEvents } } }),
  })
  await store.append(lease, [ended(1, new Date(clock.now()).toISOString())])
  const settled: (() => void)[] = []
  const notifier = new Notifier(
    {
      store: wrapStore(store, (name, method) => (...args) => {
        const result = method(...args)
        if (name === "outbox.settle") for (const tell of settled.splice(0)) tell()
        return result
      }),
      egress,
      clock,
      random: { id: () => randomBytes(16).toString("hex"), fraction: () => 0.5 },
      bug: (error) => bugs.push(error),
      attempted: (outcome) => attempts.push(outcome),
    },
    { origins: new Set(more.origins ?? [server.origin]), secrets: [randomBytes(24)] },
  )
  t.after(async () => {
    await notifier.stop(0)
    await egress.close()
    await server.close()
    assert.deepEqual(bugs, [])
  })
  return {
    clock,
    store,
    attempts,
    received: server.received as readonly Received[],
    notice: async (): Promise<Notice | undefined> => (await store.outbox.ofRun(lease.run_id))[0],
    /** The outcome of the next attempt is stored. */
    settled: () => within(30_000, "an attempt", new Promise<void>((resolve) => settled.push(resolve))),
    /** How long until the next attempt; null when there is none. */
    pause: async (): Promise<number | null> => {
      const { next_due } = await store.outbox.take(0, 0)
      return next_due === null ? null : next_due - clock.now()
    },
  }
}

test("tries ever later for a day under one id, then gives up", async (t) => {
  const { clock, attempts, received, notice, settled, pause } = await notified(t, () => 503)
  const began = clock.now()
  const pauses: number[] = []
  await settled()
  for (;;) {
    const ms = await pause()
    if (ms === null) break
    pauses.push(ms)
    const next = settled()
    clock.advance(ms)
    await next
  }
  assert.deepEqual(pauses.slice(0, 4), [5_000, 10_000, 20_000, 40_000])
  assert.equal(Math.max(...pauses), 3_600_000)
  const lasted = clock.now() - began
  assert.ok(lasted <= noticeForMs && lasted > noticeForMs - 3_600_000, `${lasted} ms`)
  const { status, last_error, attempts: count } = (await notice()) ?? {}
  assert.deepEqual([status, last_error, count], ["gave_up", "The receiver answered 503", pauses.length + 1])
  assert.equal(received.length, count)
  assert.equal(new Set(received.map(({ headers }) => headers["webhook-id"])).size, 1)
  assert.equal(new Set(received.map(({ body }) => body)).size, 1)
  // Each attempt is signed anew, for receivers refuse old times.
  assert.equal(new Set(received.map(({ headers }) => headers["webhook-timestamp"])).size, received.length)
  assert.deepEqual([...new Set(attempts)], ["failed", "gave_up"])
})

test("a receiver that comes back gets what it missed", async (t) => {
  let status = 500
  const { clock, notice, settled, pause } = await notified(t, () => status)
  await settled()
  status = 200
  const next = settled()
  clock.advance((await pause()) ?? 0)
  await next
  assert.deepEqual([(await notice())?.status, (await notice())?.attempts], ["delivered", 2])
  assert.equal(await pause(), null)
})

test("an origin that the operator has removed is not called", async (t) => {
  const { received, notice, settled } = await notified(t, () => 200, { origins: ["https://elsewhere.example"] })
  await settled()
  assert.match((await notice())?.last_error ?? "", /^WIRE_NOTIFY_ORIGINS does not list http:\/\/127\.0\.0\.1:\d+$/)
  assert.equal(received.length, 0)
})

test("a receiver that does not answer keeps others waiting for nothing", async (t) => {
  const clock = new ManualClock()
  const store = new MemoryStore(clock)
  const [slow, quick] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let open = 0
  const stuck = await startServer((_request, response) => {
    // A caller leaves one place for others.
    if (++open === noticePerReceiver - 1) slow.resolve()
    void quick.promise.then(() => response.writeHead(200).end())
  })
  const willing = await startServer((_request, response) => {
    response.writeHead(200).end()
    quick.resolve()
  })
  const notifies = async (url: string): Promise<void> => {
    const options = { ...noOptions, notify: { url, events: noticeEvents } }
    await store.append(await created(store, { request: aRequest({ options }) }), [ended(1)])
  }
  for (let n = 0; n < 100; n++) await notifies(`${stuck.origin}/hook`)
  const egress = createEgress({ policy: { kind: "private" } })
  const bugs: unknown[] = []
  const delivered = Promise.withResolvers<void>()
  let count = 0
  const notifier = new Notifier(
    {
      store,
      egress,
      clock,
      random: { id: () => randomBytes(16).toString("hex"), fraction: () => 0.5 },
      bug: (error) => bugs.push(error),
      attempted: () => ++count === 101 && delivered.resolve(),
    },
    { origins: new Set([stuck.origin, willing.origin]), secrets: [randomBytes(24)] },
  )
  t.after(async () => {
    await notifier.stop(0)
    await egress.close()
    await Promise.all([stuck.close(), willing.close()])
  })
  await within(30_000, "as many deliveries as one receiver may have", slow.promise)
  await notifies(`${willing.origin}/hook`)
  await within(30_000, "the delivery to another receiver", quick.promise)
  assert.equal(open, noticePerReceiver - 1)
  // The others follow when the first ones are through.
  await within(30_000, "all deliveries", delivered.promise)
  assert.equal(stuck.received.length, 100)
  assert.deepEqual(bugs, [])
})

test("a caller whose notices are not answered holds up nobody else's to the same receiver", async (t) => {
  const clock = new ManualClock()
  const store = new MemoryStore(clock)
  const [stuck, arrived] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let open = 0
  const server = await startServer((request, response) => {
    if (request.url === "/bob") {
      response.writeHead(200).end()
      arrived.resolve()
      return
    }
    if (++open === noticePerReceiver - 1) stuck.resolve()
    void arrived.promise.then(() => response.writeHead(200).end())
  })
  const notifies = async (caller: string): Promise<void> => {
    const options = { ...noOptions, notify: { url: `${server.origin}/${caller}`, events: noticeEvents } }
    await store.append(await created(store, { caller, request: aRequest({ options }) }), [ended(1)])
  }
  for (let n = 0; n < 32; n++) await notifies("ann")
  const egress = createEgress({ policy: { kind: "private" } })
  const notifier = new Notifier(
    { store, egress, clock, random: { id: () => "id", fraction: () => 0.5 }, bug: (error) => arrived.reject(error) },
    { origins: new Set([server.origin]), secrets: [randomBytes(24)] },
  )
  t.after(async () => {
    await notifier.stop(0)
    await egress.close()
    await server.close()
  })
  await within(30_000, "as many deliveries as one caller may have", stuck.promise)
  await notifies("bob")
  await within(30_000, "the other caller's notice", arrived.promise)
})
