import type { Plan } from "../plan/plan-shape.ts"
import { mayWait } from "../plan/may-wait.ts"
import type { WireError } from "../log/events.ts"
import { wireError } from "../ports/run-failure.ts"
import type { RunPorts } from "./context/run-context.ts"
import type { MemoryShare } from "./shares/memory-share.ts"
import type { StoredShare } from "./shares/stored-share.ts"
import type { Full, RunSlots } from "./run-slots.ts"

/** What the runs of a process share, as far as it decides whether one more may enter. */
export interface SharedRoom {
  readonly places: RunSlots
  /** Most runs of one caller that run or wait. */
  readonly maxOfTenant: number
  readonly memory: MemoryShare
  readonly stored: StoredShare
  /** Most runs of one caller that wait for people; 10,000 unless set. */
  readonly maxWaiting: number | undefined
  /** No run enters any more. */
  readonly isDraining: () => boolean
}

/** A new run that asks to enter. */
export interface Entering {
  readonly plan: Plan
  readonly caller: string
  /** Who is treated alike: the caller, unless the caller has no name. */
  readonly share: string
  /** About what the run begins with. */
  readonly bytes: number
}

type Refusal = WireError | null

const defaultMaxWaiting = 10_000
/** A count of waiting runs that leaves so much room is good for so long: to count very many takes milliseconds. */
const farFromFull = 5_000
const countedMs = 1_000

/** Decides whether a new run may enter, and takes a place for it. */
export class AdmissionRules {
  readonly #ports: Pick<RunPorts, "store" | "trouble" | "clock">
  readonly #room: SharedRoom
  /** By caller: until when there is room for runs that wait. */
  readonly #roomToWait = new Map<string, number>()

  constructor(ports: Pick<RunPorts, "store" | "trouble" | "clock">, room: SharedRoom) {
    this.#ports = ports
    this.#room = room
  }

  /** Why the run may not enter; null where it has, and has its place. A promise only where another has to be asked: most are not. */
  enter(run: Entering): Refusal | Promise<Refusal> {
    const refusal = this.#whyNot(run)
    if (refusal !== null) return refusal
    const isFull = this.#room.stored.isFull(run.caller, run.bytes)
    return isFull === null && !mayWait(run.plan) ? this.#takePlace(run.share) : this.#afterStore(run, isFull)
  }

  async #afterStore(run: Entering, isFull: Promise<boolean> | null): Promise<Refusal> {
    let refusal = (await isFull) === true ? this.#storeFull() : null
    if (mayWait(run.plan)) refusal ??= await this.#whyNotWait(run.caller)
    // Others may have taken the room meanwhile.
    refusal ??= this.#whyNot(run)
    return refusal ?? (await this.#takePlace(run.share))
  }

  #takePlace(share: string): Refusal | Promise<Refusal> {
    const full = this.#room.places.enter(share)
    return full instanceof Promise ? full.then((late) => this.#entered(late, share)) : this.#entered(full, share)
  }

  #entered(full: Full | null, share: string): Refusal {
    const refusal = this.#whyNoPlace(full)
    if (refusal !== null || !this.#room.isDraining()) return refusal
    this.#room.places.abandon(share)
    return stopping()
  }

  #whyNot({ share, bytes }: Entering): Refusal {
    if (this.#room.isDraining()) return stopping()
    const trouble = this.#ports.trouble?.() ?? null
    if (trouble !== null) return refusal("overloaded", trouble)
    const full = this.#whyNoPlace(this.#room.places.whyFull(share))
    if (full !== null) return full
    switch (this.#room.memory.whyFull(share, bytes)) {
      case "all":
        return refusal("overloaded", "Running workflows use all of the memory that is allowed: try again later")
      case "caller":
        return refusal(
          "rate_limited",
          "Your running workflows use your share of the memory: wait until some have ended",
        )
      case null:
        return null
    }
  }

  #whyNoPlace(full: Full | null): Refusal {
    switch (full) {
      case "all":
        return refusal("overloaded", "The service is at capacity")
      case "share":
        return refusal(
          "rate_limited",
          `${this.#room.maxOfTenant} of your runs run or wait, which is your share (WIRE_MAX_RUNS_PER_CALLER)`,
        )
      case null:
        return null
    }
  }

  /** What waits costs rows only, but those stay for days. */
  async #whyNotWait(caller: string): Promise<Refusal> {
    const { maxWaiting = defaultMaxWaiting } = this.#room
    const now = this.#ports.clock.monotonic()
    if (now < (this.#roomToWait.get(caller) ?? 0)) return null
    const parked = await this.#ports.store.waits.parked(caller)
    this.#roomToWait.delete(caller)
    if (parked <= maxWaiting - farFromFull) {
      if (this.#roomToWait.size > 10_000) this.#roomToWait.clear()
      this.#roomToWait.set(caller, now + countedMs)
    }
    if (parked < maxWaiting) return null
    return refusal("overloaded", `${maxWaiting} of your runs wait, which is the most (WIRE_MAX_WAITING)`)
  }

  /** What a run leaves in the store stays until retention deletes it. */
  #storeFull(): WireError {
    return refusal(
      "rate_limited",
      `Your runs take the ${this.#room.stored.most} bytes of the store that one caller may use (WIRE_MAX_STORED_PER_CALLER): ` +
        "wait until ended runs are deleted (WIRE_RETENTION)",
    )
  }
}

function stopping(): WireError {
  return refusal("overloaded", "The service is shutting down")
}

function refusal(kind: "overloaded" | "rate_limited", message: string): WireError {
  return wireError(kind, [{ path: "", message }])
}
