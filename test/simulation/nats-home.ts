import { Broker } from "../../src/adapters/nats/broker.ts"
import { unpackFrame } from "../../src/adapters/nats/frame.ts"
import type { SaidLease } from "../../src/adapters/nats/leases.ts"
import { namesOf } from "../../src/adapters/nats/names.ts"
import { NatsStore } from "../../src/adapters/nats/nats-store.ts"
import { aboutOutcome, openEvents, type SlotFacts } from "../../src/adapters/nats/slot.ts"
import { wantedStreams } from "../../src/adapters/nats/streams.ts"
import type { Stored } from "../../src/adapters/nats/transport.ts"
import type { GivenAnswer } from "../../src/ports/questions.ts"
import { usualSizes } from "../support/nats-store.ts"
import { plainVault } from "./plain-vault.ts"
import { directTransport, SimulatedBroker, SimulatedConnection, surroundingsOf } from "./simulated-broker.ts"
import type { Applied } from "./simulated-store.ts"
import type { ConnectionFaults, StoreHome } from "./store-home.ts"
import { WorldClock, type World } from "./world.ts"

const prefix = "sim"

/** The NATS store of every machine, each with a connection of its own to one simulated broker. */
export function natsHome(world: World, applied: Applied): StoreHome {
  const names = namesOf(prefix)
  const vault = plainVault()
  const broker = new SimulatedBroker(() => world.now, wantedStreams(names, usualSizes, 1))
  broker.onStored = (message, sender) => report(message, sender, applied)
  const still = { ...surroundingsOf(world, nobody), every: () => () => undefined }
  const parts = { vault, sizes: usualSizes }
  const audit = new Broker(names, directTransport(broker), still)
  return {
    audit: new NatsStore(audit, { ...parts, clock: new WorldClock(world, null) }, null),
    connect: (machine, clock, faults) => {
      const connection = new SimulatedConnection(broker, world, machine, faults.broker)
      const store = new NatsStore(
        new Broker(names, connection, surroundingsOf(world, machine)),
        { ...parts, clock },
        null,
      )
      return {
        store,
        set faults(given: ConnectionFaults) {
          connection.faults = given.broker
        },
        leave: () => connection.leave(),
        breakFor: (ms) => connection.breakFor(ms),
      }
    },
  }
}

const nobody = { name: "audit", state: "running" as const, missed: [] }

/** Reads off the messages what the store has decided: a slot and an outcome are written once. */
function report({ subject, data }: Stored, owner: string, applied: Applied): void {
  const [, stream, first = "", second = "", third, ...rest] = subject.split(".")
  const vault = plainVault()
  if (stream === "log" && third === undefined) {
    const run_id = first
    const { facts, parts } = unpackFrame<SlotFacts>(subject, data)
    const { fence } = facts
    if (facts.kind === "head") {
      applied("create", { run_id, owner, outcome: { outcome: "created", lease: { run_id, owner, fence } } })
    } else if (facts.kind === "claim") applied("claim", { run_id, owner, fence })
    else if (facts.kind === "release") applied("release", { run_id, owner, fence: fence - 1 })
    else if (facts.kind === "events") {
      if (facts.cut !== undefined) throw new Error("The events of a history fit into one message")
      const key = vault.newKey("").key
      const events = openEvents(() => key, { slot: Number(second), facts, parts }, true)
      applied("append", { lease: { run_id, owner, fence }, events })
    }
  } else if (stream === "alive") {
    const { held } = unpackFrame<{ held: readonly SaidLease[] }>(subject, data).facts
    for (const [run_id, fence, , ageMs] of held) applied("renew", { run_id, owner, fence, ageMs })
  } else if (stream === "ask" && first === "news" && third !== undefined && rest.length === 0) {
    const { facts, parts } = unpackFrame<{ id: string; status: string }>(subject, data)
    const [sealed] = parts
    if (facts.status !== "answered" || sealed === undefined) return
    const given = JSON.parse(vault.open(aboutOutcome(facts.id), sealed)) as GivenAnswer
    applied("answer", { run_id: second, id: facts.id, given, outcome: { stored: true } })
  }
}
