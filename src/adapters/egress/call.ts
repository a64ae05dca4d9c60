import { WaitedTime } from "../../ports/waited-time.ts"
import { EgressFailure, waitedTooLong, type Arrival, type CallTimer, type Waits } from "../../ports/egress.ts"

/** One call from its start to the body's last byte: knows when it has to stop, and what there is to stop just now. */
export class Call {
  /** The caller; empty for a call of the service's own. */
  readonly caller: string
  readonly waited: Waits
  readonly #signal: AbortSignal
  readonly #timer: CallTimer | null
  readonly #onAbort = (): void => this.stop(abortReason(this.#signal))
  #stopNow: ((error: Error) => void) | null = null
  #error: Error | null = null
  #afterwards: (() => void) | null = null
  #ended = false

  constructor(signal: AbortSignal, totalMs: number, arrival: Arrival | undefined) {
    signal.throwIfAborted()
    this.caller = arrival?.caller ?? ""
    this.waited = arrival?.waited ?? new WaitedTime()
    this.#signal = signal
    signal.addEventListener("abort", this.#onAbort)
    this.#timer = totalMs > 0 ? this.waited.timer(totalMs, (waitedMs) => this.stop(late(totalMs, waitedMs))) : null
  }

  /** Says what an abort or the end of the time has to stop from now on. Stops it at once if that has already come. */
  during(stopNow: (error: Error) => void): void {
    this.#stopNow = stopNow
    if (this.#error !== null) stopNow(this.#error)
  }

  /** Called once, when the call has ended for whatever reason. */
  onEnd(afterwards: () => void): void {
    this.#afterwards = afterwards
  }

  stop(error: Error): void {
    if (this.#ended) return
    this.end()
    this.#error = error
    this.#stopNow?.(error)
  }

  end(): void {
    if (this.#ended) return
    this.#ended = true
    this.#signal.removeEventListener("abort", this.#onAbort)
    this.#timer?.clear()
    this.#afterwards?.()
  }
}

function late(totalMs: number, waitedMs: number | null): EgressFailure {
  return waitedMs === null
    ? new EgressFailure("total_timeout", `No complete response within ${totalMs} ms`)
    : new EgressFailure("capacity", waitedTooLong(waitedMs))
}

function abortReason(signal: AbortSignal): Error {
  return signal.reason instanceof Error ? signal.reason : new DOMException("The call was aborted", "AbortError")
}
