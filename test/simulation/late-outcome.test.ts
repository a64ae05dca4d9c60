import assert from "node:assert/strict"
import { test } from "node:test"
import { Broker } from "../../src/adapters/nats/broker.ts"
import { namesOf } from "../../src/adapters/nats/names.ts"
import { NatsStore } from "../../src/adapters/nats/nats-store.ts"
import { wantedStreams } from "../../src/adapters/nats/streams.ts"
import type { Transport } from "../../src/adapters/nats/transport.ts"
import { usualSizes } from "../support/nats-store.ts"
import { usualOptions } from "../support/run-plan.ts"
import { plainVault } from "./plain-vault.ts"
import { SetClock } from "./replay.ts"
import { directTransport, SimulatedBroker, surroundingsOf } from "./simulated-broker.ts"
import { World } from "./world.ts"

test("the outcome of an attempt does not replace that of a later one", async () => {
  const world = new World(1)
  const names = namesOf("sim")
  const broker = new SimulatedBroker(() => world.now, wantedStreams(names, usualSizes, 1))
  const around = {
    ...surroundingsOf(world, { name: "", state: "running", missed: [] }),
    every: () => () => undefined,
  }
  const clock = new SetClock()
  const storeOn = (transport: Transport): NatsStore =>
    new NatsStore(new Broker(names, transport, around), { vault: plainVault(["key"]), sizes: usualSizes, clock }, null)
  const [direct, slow] = [directTransport(broker), directTransport(broker)]
  /** Comes right after the slow process has looked at the notice. */
  let meanwhile: (() => Promise<void>) | null = null
  const first = storeOn({
    ...slow,
    last: async (stream, subject, from) => {
      const found = await slow.last(stream, subject, from)
      const act = subject.includes(".outbox.due.") ? meanwhile : null
      if (act !== null) meanwhile = null
      await act?.()
      return found
    },
  })
  const second = storeOn(direct)

  const notify = { url: "https://receiver.test/hook", events: ["completed"] as const }
  const request = { source: "", input: {}, secrets: {}, options: { ...usualOptions, notify } }
  const run = { run_id: "run1", caller: "", request, created_at: 0, idempotency: null, resumable: true }
  const created = await first.create(run, "first", 10_000)
  assert.ok(created.outcome === "created")
  const at = new Date(0).toISOString()
  const data = {
    at,
    output: { result: null },
    usage: { input_tokens: 0, output_tokens: 0, cached_tokens: 0, reasoning_tokens: 0, cost: 0 },
    duration_ms: 0,
  }
  await first.append(created.lease, [{ id: 1, type: "workflow_completed", at, data }])

  const delivered = { status: "delivered", last_error: null, due_at: 0 } as const
  const [notice] = (await first.takeNotices(1, 15_000)).taken
  assert.equal(notice?.attempts, 1)
  clock.at = { now: 20_000, monotonic: 20_000 }
  meanwhile = async () => {
    const [again] = (await second.takeNotices(1, 15_000)).taken
    assert.equal(again?.attempts, 2)
    await second.settleNotice(again, delivered)
  }
  await first.settleNotice(notice, delivered)

  assert.equal(meanwhile, null)
  assert.deepEqual(
    (await second.notices("run1")).map(({ status, attempts }) => ({ status, attempts })),
    [{ status: "delivered", attempts: 2 }],
  )
})
