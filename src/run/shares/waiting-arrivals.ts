import { WaitedTime } from "../../ports/waited-time.ts"
import type { Arrival, Waits } from "../../ports/egress.ts"

/** Memory that an answer is counted in. */
interface CountedMemory {
  readonly hasRoom: boolean
  add(bytes: number): unknown
  remove(bytes: number): void
  /** An answer needs no memory any more. */
  arrived(): void
}

/** An answer that waits, maybe at two places: where it arrives, and where it is put together. */
interface Waiting {
  readonly memory: CountedMemory
  readonly go: (() => void)[]
}

interface OfCaller {
  first: RunArrival | null
  readonly queue: Map<RunArrival, Waiting>
}

/**
 * Answers that wait for memory, by caller, in the order in which they came. The first answer of a caller that finds no room is read on
 * all the same: else answers of which each has arrived in part would wait for each other. The next one takes its place when it is over.
 */
export class WaitingArrivals {
  readonly #callers = new Map<string, OfCaller>()
  #looks = false

  /** Null where the answer may be read on. */
  wait(caller: string, arrival: RunArrival, memory: CountedMemory): Promise<void> | null {
    const found = this.#callers.get(caller) ?? { first: null, queue: new Map() }
    if (memory.hasRoom) {
      if (found.first === arrival) this.over(caller, arrival)
      return null
    }
    this.#callers.set(caller, found)
    found.first ??= arrival
    if (found.first === arrival) return null
    return new Promise((go) => {
      const waiting = found.queue.get(arrival)
      if (waiting === undefined) found.queue.set(arrival, { memory, go: [go] })
      else waiting.go.push(go)
    })
  }

  /** The answer needs no memory any more. */
  over(caller: string, arrival: RunArrival): void {
    const found = this.#callers.get(caller)
    if (found === undefined) return
    if (found.first === arrival) found.first = null
    release(found.queue, arrival)
    if (found.first === null && found.queue.size === 0) this.#callers.delete(caller)
    else this.lookSoon()
  }

  /** There may be room. */
  lookSoon(): void {
    if (this.#looks || this.#callers.size === 0) return
    this.#looks = true
    setImmediate(() => {
      this.#looks = false
      for (const [caller, found] of this.#callers) this.#look(caller, found)
    })
  }

  /** The room is counted when an answer has read on, so one goes on at a time. */
  #look(caller: string, found: OfCaller): void {
    const [next] = found.queue
    if (next === undefined) {
      if (found.first === null) this.#callers.delete(caller)
      return
    }
    const [arrival, { memory }] = next
    const hasRoom = memory.hasRoom
    if (!hasRoom && found.first !== null) return
    if (!hasRoom) found.first = arrival
    release(found.queue, arrival)
    this.lookSoon()
  }
}

function release(queue: OfCaller["queue"], arrival: RunArrival): void {
  const waiting = queue.get(arrival)
  queue.delete(arrival)
  for (const go of waiting?.go ?? []) go()
}

/** Where the answers of a run wait. */
export interface ArrivalQueue {
  readonly waiting: WaitingArrivals
  readonly caller: string
}

/** What has arrived of one answer of a run. */
export class RunArrival implements Arrival {
  readonly waited: Waits
  readonly #memory: CountedMemory
  readonly #queue: ArrivalQueue
  readonly #signal: AbortSignal
  readonly #onAbort = (): void => this.close()
  #bytes = 0
  #isOpen = true

  constructor(memory: CountedMemory, queue: ArrivalQueue, signal: AbortSignal, waited: Waits = new WaitedTime()) {
    this.waited = waited
    this.#memory = memory
    this.#queue = queue
    this.#signal = signal
    // Nothing waits in vain.
    signal.addEventListener("abort", this.#onAbort, { once: true })
  }

  get caller(): string {
    return this.#queue.caller
  }

  add(bytes: number): Promise<void> | null {
    if (!this.#isOpen) return null
    this.#bytes += bytes
    this.#memory.add(bytes)
    const wait = this.#queue.waiting.wait(this.#queue.caller, this, this.#memory)
    return wait === null ? null : this.waited.during(wait)
  }

  remove(bytes: number): void {
    if (!this.#isOpen) return
    this.#bytes -= bytes
    this.#memory.remove(bytes)
  }

  close(): void {
    if (!this.#isOpen) return
    this.remove(this.#bytes)
    this.#isOpen = false
    this.#signal.removeEventListener("abort", this.#onAbort)
    this.#memory.arrived()
    this.#queue.waiting.over(this.#queue.caller, this)
  }
}
