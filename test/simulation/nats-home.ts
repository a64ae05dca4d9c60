import { Broker } from "../../src/adapters/nats/broker.ts"
import { unpackFrame } from "../../src/adapters/nats/frame.ts"
import { NatsKeyChange } from "../../src/adapters/nats/key-change.ts"
import { agreeOnKeys, readKeyRecord } from "../../src/adapters/nats/key-record.ts"
import type { SaidLease } from "../../src/adapters/nats/leases.ts"
import { namesOf } from "../../src/adapters/nats/names.ts"
import { NatsStore } from "../../src/adapters/nats/nats-store.ts"
import { aboutOutcome, openEvents, type SlotFacts } from "../../src/adapters/nats/slot.ts"
import { wantedStreams } from "../../src/adapters/nats/streams.ts"
import type { Stored } from "../../src/adapters/nats/transport.ts"
import type { GivenAnswer } from "../../src/ports/questions.ts"
import { isStoreTrouble } from "../../src/ports/store.ts"
import type { Vault } from "../../src/ports/vault.ts"
import { usualSizes } from "../support/nats-store.ts"
import { plainKey, plainVault } from "./plain-vault.ts"
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
  const broker = new SimulatedBroker(() => world.now, wantedStreams(names, usualSizes, 1))
  const heads = new Set<string>()
  broker.onStored = (message, sender) => report(message, sender, heads, applied)
  const still = { ...surroundingsOf(world, nobody), every: () => () => undefined }
  const clock = new WorldClock(world, null)
  /** The master keys that a process is started with. */
  let keys: readonly string[] = ["key 1"]
  const direct = new Broker(names, directTransport(broker), still)
  const home: StoreHome = {
    clock,
    audit: async () => {
      const record = (await readKeyRecord(direct))?.record ?? null
      const vault = plainVault(record?.old === null ? [Buffer.from(record.mark).toString()] : keys)
      vault.agree(record, "follow")
      return new NatsStore(direct, { vault, sizes: usualSizes, clock })
    },
    connect: (machine, machineClock, faults) => {
      const connection = new SimulatedConnection(broker, world, machine, faults.broker)
      const own = new Broker(names, connection, surroundingsOf(world, machine))
      const vault = plainVault(keys)
      const store = new NatsStore(own, { vault, sizes: usualSizes, clock: machineClock })
      const ready = persist(own, async () => {
        const { old } = await agreeOnKeys(own, vault)
        if (old !== null) void changeKey(own, vault)
      })
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
      begin: () => (keys = ["key 2", "key 1"]),
      isDone: () => {
        const found = broker.last(names.stream("keys"), names.mark)
        if (found === null) return false
        const { facts, parts } = unpackFrame<{ old?: string }>(found.subject, found.data)
        const isDone = facts.old === undefined && Buffer.from(parts[0] ?? []).toString() === "key 2"
        // Whoever is started from now on does not need the key before.
        if (isDone) keys = ["key 2"]
        return isDone
      },
    },
  }
  return home
}

async function changeKey(broker: Broker, vault: Vault): Promise<void> {
  const change = new NatsKeyChange(broker, vault)
  let left = 1
  while (left > 0) await persist(broker, async () => void ({ left } = await change.step()))
}

/** Until it works. */
async function persist(broker: Broker, act: () => Promise<void>): Promise<void> {
  for (;;) {
    try {
      return await act()
    } catch (error) {
      if (!isStoreTrouble(error)) throw error
      await broker.pause(againMs)
    }
  }
}

const nobody = { name: "audit", state: "running" as const, missed: [] }

/** Reads off the messages what the store has decided: a slot and an outcome are written once. */
function report({ subject, data }: Stored, owner: string, heads: Set<string>, applied: Applied): void {
  const [, stream, first = "", second = "", third, ...rest] = subject.split(".")
  if (stream === "log" && third === undefined) {
    const run_id = first
    const { facts, parts } = unpackFrame<SlotFacts>(subject, data)
    const { fence } = facts
    if (facts.kind === "head") {
      // A change of the key writes it again.
      if (heads.has(run_id)) return
      heads.add(run_id)
      applied("create", { run_id, owner, outcome: { outcome: "created", lease: { run_id, owner, fence } } })
    } else if (facts.kind === "claim") applied("claim", { run_id, owner, fence })
    else if (facts.kind === "release") applied("release", { run_id, owner, fence: fence - 1 })
    else if (facts.kind === "events") {
      if (facts.cut !== undefined) throw new Error("The events of a history fit into one message")
      const events = openEvents(() => plainKey, { slot: Number(second), facts, parts }, true)
      applied("append", { lease: { run_id, owner, fence }, events })
    }
  } else if (stream === "alive") {
    const { held } = unpackFrame<{ held: readonly SaidLease[] }>(subject, data).facts
    for (const [run_id, fence, ageMs] of held) applied("renew", { run_id, owner, fence, ageMs })
  } else if (stream === "ask" && first === "news" && third !== undefined && rest.length === 0) {
    const { facts, parts } = unpackFrame<{ id: string; status: string }>(subject, data)
    const [sealed] = parts
    if (facts.status !== "answered" || sealed === undefined) return
    const given = JSON.parse(plainKey.open(aboutOutcome(facts.id), sealed)) as GivenAnswer
    applied("answer", { run_id: second, id: facts.id, given, outcome: { stored: true } })
  }
}
