import type { RequestOptions } from "@modelcontextprotocol/client"
import { EgressFailure, waitedTooLong, type CallTimer } from "../../ports/egress.ts"
import { CallTimeout } from "./explain-failure.ts"
import type { HttpTransport } from "./http-transport.ts"

export interface Timeouts {
  /** For an answer, or the next news of its progress. */
  readonly silenceMs: number
  /** For an answer, however much progress is reported. */
  readonly totalMs: number
}

/** The SDK's own timer never has to fire: those here do. */
export const never = 2 ** 31 - 1

/** Makes a request within its times. Rejects with the signal's reason, or a `CallTimeout`, when it was cut short. */
export async function timed<T>(
  transport: HttpTransport,
  signal: AbortSignal,
  times: Timeouts,
  work: (options: RequestOptions) => Promise<T>,
): Promise<T> {
  const stop = new AbortController()
  const onAbort = (): void => stop.abort(signal.reason)
  signal.addEventListener("abort", onAbort, { once: true })
  const timer = (ms: number): CallTimer =>
    transport.waited.timer(ms, (waitedMs) =>
      stop.abort(
        waitedMs === null
          ? new CallTimeout(`did not answer within ${ms} ms`)
          : new EgressFailure("capacity", waitedTooLong(waitedMs)),
      ),
    )
  const silence = timer(times.silenceMs)
  const total = timer(times.totalMs)
  try {
    return await work({ signal: stop.signal, timeout: never, onprogress: () => silence.restart() })
  } catch (error) {
    if (!stop.signal.aborted) throw error
    // When the caller gets the error, nothing of the call is open any more.
    await transport.settled()
    throw stop.signal.reason
  } finally {
    silence.clear()
    total.clear()
    signal.removeEventListener("abort", onAbort)
  }
}
