import { timerMs } from "../../base/timer-ms.ts"
import { EgressFailure } from "../../ports/egress.ts"

/** One call from its start to the body's last byte: knows when it has to stop, and what there is to stop just now. */
export class Call {
  readonly #signal: AbortSignal
  readonly #timer: NodeJS.Timeout | null
  readonly #onAbort = (): void => this.stop(abortReason(this.#signal))
  #stopNow: ((error: Error) => void) | null = null
  #error: Error | null = null
  #afterwards: (() => void) | null = null
  #ended = false

  constructor(signal: AbortSignal, totalMs: number) {
    signal.throwIfAborted()
    this.#signal = signal
    signal.addEventListener("abort", this.#onAbort)
    this.#timer =
      totalMs > 0
        ? setTimeout(
            () => this.stop(new EgressFailure("total_timeout", `No complete response within ${totalMs} ms`)),
            timerMs(totalMs),
          )
        : null
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
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#afterwards?.()
  }
}

function abortReason(signal: AbortSignal): Error {
  return signal.reason instanceof Error ? signal.reason : new DOMException("The call was aborted", "AbortError")
}
