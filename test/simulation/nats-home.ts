import { Broker } from "../../src/adapters/nats/broker.ts"
import { unpackFrame } from "../../src/adapters/nats/frame.ts"
import { changeKey } from "../../src/adapters/nats/key-record.ts"
import type { SaidLease } from "../../src/adapters/nats/leases.ts"
import { namesOf } from "../../src/adapters/nats/names.ts"
import { NatsStore } from "../../src/adapters/nats/nats-store.ts"
import type { OutcomeFacts } from "../../src/adapters/nats/nats-waits.ts"
import type { RunFacts } from "../../src/adapters/nats/run-rows.ts"
import { openWithKept } from "../../src/store/sealed-events.ts"
import { openOutcome } from "../../src/store/sealed-waits.ts"
import { wantedStreams } from "../../src/adapters/nats/streams.ts"
import type { Stored } from "../../src/adapters/nats/transport.ts"
import { isStoreTrouble } from "../../src/ports/store.ts"
import { defaultSizes } from "../support/nats-store.ts"
import { plainChange, plainKey, plainMasterKey } from "./plain-vault.ts"
import { directTransport, SimulatedBroker, SimulatedConnection, surroundingsOf } from "./simulated-broker.ts"
import type { Applied } from "./simulated-store.ts"
import type { ConnectionFaults, StoreHome } from "./store-home.ts"
import { WorldClock, type World } from "./world.ts"

const prefix = "sim"
/** When a process tries again what its broker did not do. */
const againMs = 1_000

/** The NATS store of every machine, each with a connection of its own to one simulated broker. */
export function natsHome(world: World, applied: Applied): StoreHome {
  const names = namesOf(prefix)
  const ownClock = new WorldClock(world, null)
  const broker = new SimulatedBroker(() => world.now, ownClock, wantedStreams(names, defaultSizes, 1))
  broker.onStored = reporter(applied)
  const still = { ...surroundingsOf(world, nobody), every: () => () => undefined }
  const clock = new WorldClock(world, null)
  /** The master key that a process is started with. */
  let key = "key 1"
  let isChanged = false
  const direct = new Broker(names, directTransport(broker), still)
  const home: StoreHome = {
    clock,
    ownClock,
    audit: async () => {
      const store = new NatsStore(direct, { masterKey: plainMasterKey(key), sizes: defaultSizes, clock })
      await store.agreeOnKeys()
      return store
    },
    connect: (machine, machineClock, faults) => {
      const connection = new SimulatedConnection(broker, world, machine, faults.broker)
      const own = new Broker(names, connection, surroundingsOf(world, machine))
      const store = new NatsStore(own, { masterKey: plainMasterKey(key), sizes: defaultSizes, clock: machineClock })
      const ready = persist(own, () => store.agreeOnKeys())
      return {
        store,
        ready,
        set faults(given: ConnectionFaults) {
          connection.faults = given.broker
        },
        leave: () => connection.leave(),
        breakFor: (ms) => connection.breakFor(ms),
      }
    },
    keys: {
      change: async () => {
        await persist(direct, () => changeKey(direct, plainChange("key 1", "key 2")))
        key = "key 2"
        isChanged = true
      },
      isDone: () => isChanged,
    },
  }
  return home
}

/** Until it works. */
async function persist(broker: Broker, act: () => Promise<unknown>): Promise<void> {
  for (;;) {
    try {
      await act()
      return
    } catch (error) {
      if (!isStoreTrouble(error)) throw error
      await broker.pause(againMs)
    }
  }
}

const nobody = { name: "audit", state: "running" as const, missed: [] }

/** Reads off the messages what the store has decided: each message of a run's row expects the one before, and an outcome is written once. */
function reporter(applied: Applied): (message: Stored, sender: string) => void {
  /** By run, as its newest message says. */
  const newest = new Map<string, RunFacts>()
  return ({ subject, data }, owner) => {
    const [, stream, row, run_id = ""] = subject.split(".")
    if (stream === "alive") {
      const { held } = unpackFrame<{ held: readonly SaidLease[] }>(subject, data).facts
      for (const [id, fence, ageMs] of held) applied("renew", { run_id: id, owner, fence, ageMs })
    } else if (row === "run") {
      const { facts, parts } = unpackFrame<RunFacts | { gone: unknown }>(subject, data)
      if ("gone" in facts) return
      const before = newest.get(run_id)
      newest.set(run_id, facts)
      reportRun(run_id, before, facts, parts, owner, applied)
    } else if (row === "outcome") {
      const { facts, parts } = unpackFrame<OutcomeFacts>(subject, data)
      const [sealed] = parts
      if (facts.status !== "settled" || sealed === undefined) return
      const { kind, id } = facts
      applied("settle", { run_id, kind, id, outcome: openOutcome(plainKey, kind, id, sealed), stored: true })
    }
  }
}

function reportRun(
  run_id: string,
  before: RunFacts | undefined,
  facts: RunFacts,
  parts: readonly Uint8Array[],
  owner: string,
  applied: Applied,
): void {
  const { fence, session, first, last } = facts
  if (before === undefined) {
    applied("create", { run_id, owner, outcome: { outcome: "created", lease: { run_id, owner, fence } } })
  } else if (first !== undefined) {
    const [, , body, apart] = parts
    if (body === undefined || body.length === 0) throw new Error("The events of a history fit into one message")
    applied("append", { lease: { run_id, owner, fence }, events: openWithKept(plainKey, last, body, apart) })
  } else if (facts.failedAsCorrupt !== undefined) {
    applied("append", { lease: { run_id, owner, fence }, events: [facts.failedAsCorrupt] })
  } else if (fence !== before.fence) {
    if (session === "") applied("release", { run_id, owner, fence: before.fence })
    else applied("claim", { run_id, owner, fence })
  }
}
