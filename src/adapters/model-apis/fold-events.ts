import { setImmediate as nextTurn } from "node:timers/promises"
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
  /** Takes an event. Returns the text that it adds to the answer, to be shown; "" where it adds none. */
  add(event: JsonObject): string
  /** Characters of text, reasoning and arguments so far. */
  readonly length: number
  /** Nothing of use follows. */
  readonly ended: boolean
  /** The whole body; null before the event that says how the answer ended. */
  whole(): JsonObject | null
}

export interface Folding {
  readonly fold: Fold
  readonly call: Call
  /** Text is reported as it comes. */
  readonly show: boolean
  /** A reason why this event is none of the API. */
  readonly problem: (event: JsonObject) => string | null
}

/** Bytes that are read before others have their turn: hundreds of small events. */
const bytesPerTurn = 16 * 1024

/** Reads pieces of a stream until it has ended, or the pieces have. Throws an `UpstreamFailure`, or what the pieces throw. */
export async function foldEvents(
  pieces: AsyncIterator<Uint8Array> | Iterator<Uint8Array>,
  { fold, call, show, problem }: Folding,
): Promise<JsonObject> {
  const { attempt, watch, limits } = call
  const redacted = watch.redactStream()
  const shown = (text: string): void => {
    if (show && text !== "") watch.delta(attempt, text)
  }
  let failure: Error | null = null
  let isDone = false
  const read = (data: string): void => {
    const event = parseEvent(data)
    const { error } = event
    if (isJsonObject(error) || (typeof error === "string" && error !== "")) {
      throw new UpstreamFailure(readInnerError(event, null, watch))
    }
    const reason = problem(event)
    if (reason !== null) throw brokenAnswer(reason, false)
    const text = fold.add(event)
    if (fold.length > limits.max_bytes) throw brokenAnswer("The streamed answer is too large", false)
    if (text !== "") shown(redacted.push(text))
  }
  const events = new EventReader(
    {
      onEvent: ({ data }) => {
        if (failure !== null || isDone) return
        isDone = data === "[DONE]"
        try {
          if (!isDone) read(data)
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
    const room = isOver() ? null : count(events.held + fold.length)
    if (room !== null) await room
  }
  if (!isOver()) events.end()
  if (failure !== null) throw failure as Error
  const whole = fold.whole()
  if (whole === null) throw brokenAnswer("The stream ended before its terminal event", true)
  shown(redacted.end())
  return whole
}

function parseEvent(data: string): JsonObject {
  if (isTooMuchJson(data, modelAnswerValues)) throw tooManyValues()
  const event = jsonOf(data)
  if (!isJsonObject(event)) throw brokenAnswer("A piece of the stream could not be read", true)
  return event
}
