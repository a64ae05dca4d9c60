import type { ServerResponse } from "node:http"
import { drained } from "../base/drained.ts"
import { streamError, type ErrorAnswer } from "../api/error-kinds.ts"
import { notACursor } from "../api/runs.ts"
import { StoreFailure } from "../ports/store.ts"
import { isTerminal, type LogEvent } from "../log/events.ts"
import { asHttpError } from "./answer-error.ts"
import { refuseAt } from "./http-error.ts"
import { wholeNumber } from "./whole-number.ts"
import type { StreamPartials } from "./stream-partials.ts"
import { loopTurns } from "../event-loop/loop-turns.ts"

const heartbeatMs = 15_000

export const streamHeaders: Readonly<Record<string, string>> = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-store",
  "x-accel-buffering": "no",
}

/** Frames that are longer are encoded once: what a slow reader has not taken is then the same memory for all. */
const sharedFrom = 16 * 1024

/** An event as it goes over the wire; made once for all followers of a run that are handed the same object. */
const frames = new WeakMap<LogEvent, string | Buffer>()

function frameOf(event: LogEvent): string | Buffer {
  let frame = frames.get(event)
  if (frame === undefined) {
    const text = `id: ${event.id}\nevent: ${event.type}\ndata: ${JSON.stringify(event.data)}\n\n`
    frame = text.length < sharedFrom ? text : Buffer.from(text)
    frames.set(event, frame)
  }
  return frame
}

/** Without an id, because it is not an event of the run. */
function errorFrame(error: ErrorAnswer["error"] | undefined): string {
  return `event: ${streamError}\ndata: ${JSON.stringify({ error })}\n\n`
}

interface OpenStream {
  readonly response: ServerResponse
  readonly end: AbortController
  /** The client has closed the connection. */
  readonly gone: () => void
}

const clientGone = new Error("The client is gone")

async function write({ response, end }: OpenStream, text: string | Buffer): Promise<void> {
  await loopTurns.spend(text.length)
  if (!response.write(text)) await drained(response, end.signal)
}

/** All open streams, which share one heartbeat. */
export class EventStreams {
  readonly #open = new Set<OpenStream>()
  /** Streams that a client can resume where they broke off. */
  readonly #ofRuns = new Set<OpenStream>()
  #timer: NodeJS.Timeout | undefined

  get size(): number {
    return this.#open.size
  }

  /**
   * Writes events until there are no more or the client is gone. It asks for the next one only when the last has been
   * taken: a slow reader is fed from the store, not from memory.
   */
  async send(
    response: ServerResponse,
    headers: Readonly<Record<string, string>>,
    follow: (signal: AbortSignal) => AsyncIterable<LogEvent>,
    partials: StreamPartials,
  ): Promise<void> {
    const stream = this.#begin(response)
    const { end } = stream
    this.#ofRuns.add(stream)
    try {
      response.writeHead(200, { ...streamHeaders, ...headers })
      response.socket?.setNoDelay(true)
      response.write("retry: 1000\n\n")
      await loopTurns.spend(0)
      let over = false
      for await (const event of follow(end.signal)) {
        if (end.signal.aborted) break
        over = isTerminal(event.type)
        const found = partials.before(event)
        const before = typeof found === "string" ? found : await found
        const frame = frameOf(event)
        if (before !== "") await write(stream, before)
        await write(stream, frame)
      }
      const why: unknown = end.signal.reason
      if (why instanceof StoreFailure && !over) response.write(errorFrame(asHttpError(why)?.error))
      response.end()
    } catch (error) {
      if (error instanceof StoreFailure) {
        // The client must see that this is not the run's end, and whether coming back helps.
        response.end(errorFrame(asHttpError(error)?.error))
        return
      }
      // Cut, not ended: the client sees a broken stream, and comes back with its last id.
      response.destroy()
      throw error
    } finally {
      this.#forget(stream)
    }
  }

  /** Writes texts until there are no more or the client is gone; says whether it has left before the end. */
  async sendText(
    response: ServerResponse,
    headers: Readonly<Record<string, string>>,
    texts: (signal: AbortSignal) => AsyncIterable<string>,
  ): Promise<boolean> {
    const stream = this.#begin(response)
    const { signal } = stream.end
    try {
      response.writeHead(200, { ...streamHeaders, ...headers })
      response.socket?.setNoDelay(true)
      for await (const text of texts(signal)) {
        if (signal.reason === clientGone) break
        // The last text of a service that stops says so.
        await write(stream, text)
      }
      response.end()
      return signal.reason === clientGone
    } catch (error) {
      response.destroy()
      throw error
    } finally {
      this.#forget(stream)
    }
  }

  #begin(response: ServerResponse): OpenStream {
    const end = new AbortController()
    const stream = { response, end, gone: () => end.abort(clientGone) }
    this.#open.add(stream)
    this.#timer ??= setInterval(() => this.#beat(), heartbeatMs).unref()
    response.once("close", stream.gone)
    // It may have gone while the run was being stored; `close` is said only once.
    if (response.closed) stream.gone()
    return stream
  }

  #forget(stream: OpenStream): void {
    stream.response.off("close", stream.gone)
    this.#open.delete(stream)
    this.#ofRuns.delete(stream)
  }

  /** The store cannot be read here, but maybe by another replica: clients are told to come back. Streams that cannot be taken up again stay. */
  giveUp(failure: StoreFailure): void {
    for (const { end } of this.#ofRuns) end.abort(failure)
  }

  /** Ends every stream. Clients of runs' events come back, to this service or to the one that follows it; the others are told. */
  close(): void {
    clearInterval(this.#timer)
    for (const stream of this.#open) {
      stream.end.abort(new Error("The service is shutting down"))
      if (this.#ofRuns.has(stream)) stream.response.end()
    }
  }

  #beat(): void {
    for (const { response } of this.#open) if (!response.writableNeedDrain) response.write(": \n\n")
  }
}

/** The last event that the client has. The header wins over the query. */
export function eventCursor(header: string | string[] | undefined, query: number | undefined): number {
  if (typeof header !== "string") return query ?? 0
  const id = wholeNumber(header)
  if (id === null) throw refuseAt("invalid_request", "Last-Event-ID", notACursor)
  return id
}
