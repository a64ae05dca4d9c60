import { MemoryStore } from "../../src/adapters/memory/memory-store.ts"
import type { Clock } from "../../src/ports/clock.ts"
import type { RunStore } from "../../src/ports/store.ts"
import { wrapStore } from "../../src/ports/wrap-store.ts"
import { traceStore, type TracedCall } from "./replay.ts"
import { DueWaits } from "./due-waits.ts"
import { SimulatedStore, type Applied, type StoreFaults } from "./simulated-store.ts"
import { WorldClock, type Machine, type World } from "./world.ts"

/** Where the runs of a history are stored. */
export interface StoreHome {
  /** One machine's way to the store. */
  connect(machine: Machine, clock: Clock, faults: StoreFaults): SimulatedStore
  /** What there is, without latency and faults. */
  readonly audit: RunStore
  readonly clock: Clock
  /** The store's own clock, which tells the time. It may be set, too. */
  readonly ownClock: WorldClock
}

/** One memory store that all machines share. With `trace`, what it is asked for is written down. */
export function memoryHome(world: World, applied: Applied, trace: TracedCall[] | null): StoreHome {
  const right = new WorldClock(world, null)
  const ownClock = new WorldClock(world, null)
  const clock = new CallersClock(right, ownClock)
  const memory = new MemoryStore(clock)
  const shared = trace === null ? memory : traceStore(memory, clock, trace)
  const due = new DueWaits()
  const begins = world.random.chance(0.5)
  return {
    audit: shared,
    clock: right,
    ownClock,
    connect: (machine, callersClock, faults) => {
      const watched: Applied = (operation, detail) => {
        due.applied(operation, detail, callersClock.now())
        applied(operation, detail)
      }
      const own = wrapStore(shared, (name, method) => {
        if (name === "follow") return null
        return (...args) => clock.during(callersClock, () => method(...args))
      })
      return new SimulatedStore(own, world, machine, faults, watched, {
        isDue: () => due.isDue(callersClock.now()),
        begins,
      })
    },
  }
}

/**
 * The clock of the memory store. Whatever it decides goes by the clock of the process that calls it, as with a database that many processes have open;
 * the time that it tells is its own.
 */
class CallersClock implements Clock {
  readonly #own: Clock
  #current: Clock

  constructor(right: Clock, own: Clock) {
    this.#current = right
    this.#own = own
  }

  /** Calls of the memory store are over before their first `await`. */
  during<T>(clock: Clock, act: () => T): T {
    const before = this.#current
    this.#current = clock
    try {
      return act()
    } finally {
      this.#current = before
    }
  }

  now(): number {
    return this.#current.now()
  }

  wall(): number {
    return this.#own.now()
  }

  monotonic(): number {
    return this.#current.monotonic()
  }

  sleep(ms: number, signal: AbortSignal): Promise<void> {
    return this.#current.sleep(ms, signal)
  }
}
