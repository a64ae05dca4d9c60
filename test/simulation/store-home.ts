import { MemoryStore } from "../../src/adapters/memory/memory-store.ts"
import type { Clock } from "../../src/ports/clock.ts"
import type { RunStore } from "../../src/ports/store.ts"
import { traceStore, type TracedCall } from "./replay.ts"
import { DueQuestions } from "./due-questions.ts"
import type { BrokerFaults } from "./simulated-broker.ts"
import { SimulatedStore, type Applied, type StoreFaults } from "./simulated-store.ts"
import { WorldClock, type Machine, type World } from "./world.ts"

export interface ConnectionFaults {
  readonly store: StoreFaults
  readonly broker: BrokerFaults
}

/** One machine's way to the store. */
export interface StoreConnection {
  readonly store: RunStore
  /** Resolves when the store can be used; null where it can be at once. */
  readonly ready: Promise<void> | null
  faults: ConnectionFaults
  /** The process is gone. */
  leave(): void
  /** Null where the way is not a connection that can break. */
  readonly breakFor: ((ms: number) => void) | null
}

/** Where the runs of a history are stored. */
export interface StoreHome {
  connect(machine: Machine, clock: Clock, faults: ConnectionFaults): StoreConnection
  /** What there is, without latency and faults. */
  audit(): Promise<RunStore>
  readonly clock: Clock
  /** How the operator changes the master key: processes that are started afterwards have the new one. Null: there is no key. */
  readonly keys: { change(): Promise<void>; isDone(): boolean } | null
}

/** One memory store that all machines share. With `trace`, what it is asked for is written down. */
export function memoryHome(world: World, applied: Applied, trace: TracedCall[] | null): StoreHome {
  const clock = new WorldClock(world, null)
  const memory = new MemoryStore(clock)
  const shared = trace === null ? memory : traceStore(memory, clock, trace)
  const due = new DueQuestions(clock)
  const begins = world.random.chance(0.5)
  const watched: Applied = (operation, detail) => {
    due.applied(operation, detail)
    applied(operation, detail)
  }
  return {
    audit: async () => shared,
    clock,
    keys: null,
    connect: (machine, _, faults) => {
      const store = new SimulatedStore(shared, world, machine, faults.store, watched, {
        isDue: () => due.isDue(),
        begins,
      })
      return {
        store,
        ready: null,
        set faults(given: ConnectionFaults) {
          store.faults = given.store
        },
        leave: () => undefined,
        breakFor: null,
      }
    },
  }
}
