import { errorStatus } from "../api/error-kinds.ts"
import { timerMs } from "../base/timer-ms.ts"
import { isTerminal } from "../log/events.ts"
import type { AgentPartial } from "../log/partials/agent-partials.ts"
import { misfit, WireworksError } from "./errors.ts"
import { UnreadableAnswer } from "./read-json.ts"
import { RunWaiting } from "./run-waiting.ts"
import { readEvents, type StreamEvent } from "./read-events.ts"

const firstWait = 1000
const longestWait = 15_000
/** The longest wait that a service can ask for. */
const longestAsked = 60_000

export interface FollowedStream {
  /** Opens the stream for the first time. */
  readonly open: () => Promise<Response>
  /** Opens the stream of a run that is known again, after the event with that id. */
  readonly resume: (run_id: string, after: number) => Promise<Response>
  /** Id of the last event that is known already. */
  readonly after: number
  /** Reconnects in a row that may fail. */
  readonly maxReconnects: number
  readonly signal?: AbortSignal
  readonly onRun?: (run_id: string) => void
  readonly onReconnect?: (attempt: number, cause: unknown) => void
  readonly onPartial?: (partial: AgentPartial) => void
}

/** The events of a stream, each once and in order, up to the terminal one. Connects again when the connection breaks. */
export async function* followStream(stream: FollowedStream): AsyncGenerator<StreamEvent, void> {
  const { open, resume, after, maxReconnects, signal, onRun, onReconnect, onPartial } = stream
  let last = after
  let run_id: string | undefined
  let wait = firstWait
  let failures = 0
  for (;;) {
    let broken: unknown
    // They stand before the event that they come from. Without it they come again, on the next connection.
    let partials: AgentPartial[] = []
    try {
      const response = run_id === undefined ? await open() : await resume(run_id, last)
      if (response.status === 204 || response.body === null) return
      if (response.headers.get("content-type")?.startsWith("text/event-stream") !== true) throw misfit(response)
      const known = response.headers.get("x-service-run-id")
      if (run_id === undefined && known !== null) onRun?.((run_id = known))
      for await (const { event, failure, retryMs, partial } of readEvents(response.body)) {
        if (partial !== undefined && onPartial !== undefined) partials.push(partial)
        if (retryMs !== undefined) wait = retryMs
        if (failure !== undefined) throw new WireworksError(failure, errorStatus[failure.kind], run_id)
        if (event === undefined) continue
        const known = partials
        partials = []
        if (event.id <= last) continue
        for (const one of known) onPartial?.(one)
        last = event.id
        failures = 0
        yield event
        if (isTerminal(event.type)) return
      }
      broken = new Error("The stream ended before the run did")
    } catch (error) {
      if (signal?.aborted === true || !isPassing(error)) throw error
      broken = error
    }
    if (failures >= maxReconnects) throw broken
    failures++
    onReconnect?.(failures, broken)
    await sleep(Math.max(Math.min(wait * 2 ** (failures - 1), longestWait), asked(broken)), signal)
  }
}

/**
 * The answer of a call that a second one repeats without harm, again where the connection breaks. A refusal of the first call counts; one after a
 * break only where it lasts.
 */
export async function untilAnswered<Answer>(
  call: () => Promise<Answer>,
  { maxReconnects, signal }: Pick<FollowedStream, "maxReconnects" | "signal">,
): Promise<Answer> {
  for (let failures = 0; ; failures++) {
    try {
      return await call()
    } catch (error) {
      const isFinal = failures === 0 ? error instanceof WireworksError || neverSent(error) : !isPassing(error)
      if (signal?.aborted === true || isFinal || !isPassing(error) || failures >= maxReconnects) throw error
      await sleep(Math.max(Math.min(firstWait * 2 ** failures, longestWait), asked(error)), signal)
    }
  }
}

/** Nothing answers at the address: the request has not left. */
function neverSent(error: unknown): boolean {
  const codes = new Set<unknown>(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN"])
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    if ("code" in cause && codes.has(cause.code)) return true
    if (cause instanceof AggregateError && cause.errors.some(neverSent)) return true
  }
  return false
}

/** A refusal is final; a broken connection, or a service that is not there just now, is not. */
function isPassing(error: unknown): boolean {
  if (error instanceof RunWaiting) return false
  if (!(error instanceof WireworksError)) return !(error instanceof UnreadableAnswer)
  return error.status === 429 || error.status === 502 || error.status === 503 || error.status === 504
}

/** How long the service asked to be left alone. */
function asked(error: unknown): number {
  return error instanceof WireworksError ? Math.min((error.retry_after ?? 0) * 1000, longestAsked) : 0
}

function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop)
      resolve()
    }, timerMs(ms))
    const stop = (): void => {
      clearTimeout(timer)
      reject(signal?.reason as Error)
    }
    if (signal?.aborted === true) stop()
    else signal?.addEventListener("abort", stop, { once: true })
  })
}
