import { nextTurn } from "../../event-loop/in-turns.ts"
import { isJsonObject } from "../../base/is-json-object.ts"
import { isTooMuchJson, jsonOf } from "../../base/bounded-json.ts"
import { EventReader } from "../../base/event-reader.ts"
import type { JsonObject } from "../../base/json-value.ts"
import { modelAnswerValues } from "../../base/limits.ts"
import { countHeld } from "../model-turn/count-held.ts"
import type { Call } from "../model-turn/model-api.ts"
import { brokenAnswer, readInnerError, tooManyValues, UpstreamFailure } from "../model-turn/upstream-failure.ts"

/** Puts the events of one streamed answer together to the body that the API sends when it does not stream. */
export interface Fold {
  /** Takes an event, with the characters that it takes. Returns the text that it adds to the answer, to be shown; "" where it adds none. */
  add(event: JsonObject, size: number): string
  /** Whether an event of this name says anything. Absent: all events are read. */
  uses?(name: string): boolean
  /** Whether an event is an error. Absent: where it has a field `error`. */
  fails?(event: JsonObject): boolean
  /** The answer may be whole although an event cannot be read. */
  readonly toleratesUnreadable?: true
  /** Characters of text, reasoning and arguments so far. */
  readonly length: number
  /** Characters that are kept, where that differs from the length. */
  readonly held?: number
  /** Nothing of use follows. */
  readonly ended: boolean
  /** The whole body; null before the event that says how the answer ended. `unreadable`: an event could not be read. */
  whole(unreadable: boolean): JsonObject | null
}

/** The part of a `Dialect` that reading its streams takes. */
export interface Folded {
  /** Begins to read a streamed answer. */
  fold(): Fold
  /** A reason why this whole answer, or this event of a stream, is not one: a blocked prompt, an answer of another API. */
  problem(body: JsonObject): string | null
  /** Fields that nobody reads: they are left out before an answer is parsed, and so it may be larger. */
  readonly unread: readonly string[]
}

export interface Folding {
  readonly dialect: Folded
  readonly call: Call
  /** Text is reported as it comes. */
  readonly show: boolean
}

/** Bytes that are read before others have their turn: hundreds of small events. */
const bytesPerTurn = 16 * 1024

/** Reads pieces of a stream until it has ended, or the pieces have. Throws an `UpstreamFailure`, or what the pieces throw. */
export async function foldEvents(
  pieces: AsyncIterator<Uint8Array> | Iterator<Uint8Array>,
  { dialect, call, show }: Folding,
): Promise<JsonObject> {
  const { attempt, watch, limits } = call
  const fold = dialect.fold()
  const redacted = watch.redactStream()
  const shown = (text: string): void => {
    if (show && text !== "") watch.delta(attempt, text)
  }
  let failure: Error | null = null
  let isDone = false
  let unreadable = false
  const read = (data: string, name: string | undefined): void => {
    const event = parseEvent(data, dialect.unread.length > 0)
    if (event === null) {
      if (fold.toleratesUnreadable !== true) throw unreadableEvent()
      unreadable = true
      return
    }
    if (name !== undefined && name !== "message") event["type"] ??= name
    if (fold.fails?.(event) ?? holdsError(event)) throw new UpstreamFailure(readInnerError(event, null, watch))
    const reason = dialect.problem(event)
    if (reason !== null) throw brokenAnswer(reason, false)
    const text = fold.add(event, data.length)
    if (fold.length > limits.max_bytes) throw brokenAnswer("The streamed answer is too large", false)
    if (text !== "") shown(redacted.push(text))
  }
  const events = new EventReader(
    {
      onEvent: ({ event, data }) => {
        if (failure !== null || isDone) return
        if (event !== undefined && event !== "message" && fold.uses?.(event) === false) return
        isDone = data === "[DONE]"
        try {
          if (!isDone) read(data, event)
          isDone ||= fold.ended
        } catch (error) {
          failure = error as Error
        }
      },
      onTooLong: () => {
        failure ??= brokenAnswer("An event of the stream is too large", false)
      },
    },
    limits.max_bytes,
  )
  const decoder = new TextDecoder()
  const isOver = (): boolean => isDone || failure !== null
  let sinceTurn = 0
  const count = countHeld(watch.arrival)
  while (!isOver()) {
    const { done, value } = await pieces.next()
    if (done === true) break
    for (let at = 0; at < value.length && !isOver(); at += bytesPerTurn) {
      if (sinceTurn >= bytesPerTurn) {
        await nextTurn()
        sinceTurn = 0
      }
      sinceTurn += Math.min(bytesPerTurn, value.length - at)
      events.feed(decoder.decode(value.subarray(at, at + bytesPerTurn), { stream: true }))
    }
    const room = isOver() ? null : count(events.held + (fold.held ?? fold.length))
    if (room !== null) await room
  }
  if (!isOver()) events.end()
  if (failure !== null) throw failure as Error
  const whole = fold.whole(unreadable)
  if (whole === null)
    throw unreadable ? unreadableEvent() : brokenAnswer("The stream ended before its terminal event", true)
  shown(redacted.end())
  return whole
}

function parseEvent(data: string, isFiltered: boolean): JsonObject | null {
  if (isFiltered ? isTooMuchJson(data, modelAnswerValues) : isTooMuchJson(data)) throw tooManyValues()
  const event = jsonOf(data)
  return isJsonObject(event) ? event : null
}

function unreadableEvent(): Error {
  return brokenAnswer("A piece of the stream could not be read", true)
}

/** Whether a body, or an event, reports an error. */
export function holdsError({ error }: JsonObject): boolean {
  return isJsonObject(error) || (typeof error === "string" && error !== "")
}
