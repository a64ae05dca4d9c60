import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import { test } from "node:test"
import { Broker } from "../../src/adapters/nats/broker.ts"
import { packFrame, unpackFrame } from "../../src/adapters/nats/frame.ts"
import { namesOf } from "../../src/adapters/nats/names.ts"
import { NatsStore } from "../../src/adapters/nats/nats-store.ts"
import type { RunFacts } from "../../src/adapters/nats/run-rows.ts"
import { wantedStreams } from "../../src/adapters/nats/streams.ts"
import { createMasterKey } from "../../src/adapters/vault/vault.ts"
import type { LogEvent } from "../../src/log/events.ts"
import { Damaged } from "../../src/ports/store.ts"
import { aRequest, aRun, created, happened, leaseMs, owner } from "../contract/run-store/material.ts"
import { defaultSizes } from "../support/nats-store.ts"
import { SetClock } from "./replay.ts"
import { directTransport, SimulatedBroker, surroundingsOf } from "./simulated-broker.ts"
import { World } from "./world.ts"

// Somebody who can write to the broker, and has no key, tries to give a run of ann's to bob.

const at = "2026-11-15T01:00:00.000Z"

function cluster() {
  const world = new World(1)
  const names = namesOf("sim")
  const clock = new SetClock()
  const simulated = new SimulatedBroker(() => world.now, clock, wantedStreams(names, defaultSizes, 1))
  const around = {
    ...surroundingsOf(world, { name: "", state: "running", missed: [] }),
    every: () => () => undefined,
  }
  const masterKey = createMasterKey(randomBytes(32))
  const broker = (): Broker => new Broker(names, directTransport(simulated), around)
  return {
    names,
    attacker: broker(),
    open: async () => {
      const store = new NatsStore(broker(), { masterKey, sizes: defaultSizes, clock })
      await store.agreeOnKeys()
      return store
    },
  }
}

function asked(id: number, run_id: string): LogEvent {
  const times = { asked_at: at, expires_at: "2036-11-15T01:00:00.000Z" }
  const question = { id: "q1", run_id, kind: "ask" as const, name: "n", question: "q", show: "s", to: null, schema: {} }
  return { id, type: "question_asked", at, data: { ...question, ...times, at } }
}

async function changed<T>(attacker: Broker, subject: string, change: (facts: T) => T): Promise<void> {
  const stored = await attacker.row(subject)
  assert.ok(stored !== null)
  const { facts, parts } = unpackFrame<T & object>(subject, stored.data)
  await attacker.put(subject, packFrame(change(facts) as T & object, parts))
}

const inboxOfBob = {
  caller: "bob",
  groups: [],
  member_of: [],
  status: "open",
  to: null,
  limit: 10,
  after: null,
} as const

test("a run whose head names another caller opens for neither", async () => {
  const { names, attacker, open } = cluster()
  const { run_id, ...lease } = await created(await open(), { caller: "ann" })
  const first = await open()
  await first.append({ run_id, ...lease }, [happened(1), asked(2, run_id)])
  assert.equal((await first.questions.ofRun(run_id, 10, null)).found.length, 1)
  assert.deepEqual(await first.request(run_id), aRequest())
  await changed<RunFacts>(attacker, names.run(run_id), (facts) => ({ ...facts, caller: "bob" }))
  const second = await open()
  for (const read of [
    () => second.read(run_id, 0, 10),
    () => second.request(run_id),
    () => second.questions.ofRun(run_id, 10, null),
    () => second.questions.one(run_id, "q1"),
  ]) {
    await assert.rejects(read(), Damaged)
  }
})

test("an entry in another inbox shows nothing, and a key that leads to another caller's run is no key of it", async () => {
  const { names, attacker, open } = cluster()
  const store = await open()
  const key = (name: string) => ({ key: name, fingerprint: name })
  const lease = await created(store, { caller: "ann", idempotency: key("of ann") })
  const { run_id } = await created(store, { caller: "bob", idempotency: key("of bob") })
  await store.append(lease, [happened(1), asked(2, lease.run_id)])
  const ofBob = await created(store, { caller: "bob" })
  await store.append(ofBob, [happened(1), asked(2, ofBob.run_id)])
  assert.equal((await store.questions.inbox(inboxOfBob)).found.length, 1)

  const entries = await attacker.list("rows", names.anyDue)
  const [mine = "", theirs = ""] = [lease, ofBob].map(
    (one) => entries.find((entry) => entry.includes(one.run_id)) ?? "",
  )
  const moved = mine
    .split(".")
    .with(6, theirs.split(".")[6] ?? "")
    .join(".")
  assert.notEqual(moved, mine)
  await attacker.put(moved, packFrame({}, []))
  const other = await open()
  const shown = (await other.questions.inbox(inboxOfBob)).found.map(({ question }) => question.run_id)
  assert.deepEqual(shown, [ofBob.run_id])

  const keys = await attacker.list("rows", names.key("*"))
  for (const subject of keys) {
    await changed<{ run_id: string }>(attacker, subject, (facts) =>
      facts.run_id === run_id ? { ...facts, run_id: lease.run_id } : facts,
    )
  }
  const wanted = { outcome: "conflict", run_id: lease.run_id }
  assert.deepEqual(await other.existing("bob", key("of bob")), wanted)
  const again = aRun({ caller: "bob", idempotency: key("of bob") })
  assert.deepEqual(await other.create(again, owner, leaseMs), wanted)
  assert.equal((await other.existing("ann", key("of ann")))?.outcome, "exists")
})
