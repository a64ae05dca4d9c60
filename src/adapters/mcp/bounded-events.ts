import { JsonWork } from "../../base/bounded-json.ts"
import { EgressFailure, type Arrival } from "../../ports/egress.ts"
import { countHeld } from "../model-turn/count-held.ts"
import { turnToParse } from "../model-turn/turn-for.ts"

/** An answer that nobody parses, because it holds more values than one may. */
export function tooManyValues(): EgressFailure {
  return new EgressFailure("too_large", "The server sent an answer of too many values")
}

type Bytes = Uint8Array<ArrayBuffer>

const lineFeed = 10
const carriageReturn = 13

export interface EventLimits {
  /** Bytes of one event: readers keep events whole. */
  readonly eventBytes: number
  /** Bytes of the stream. */
  readonly bytes: number
  readonly events: number
}

/** The same stream of server-sent events, which breaks off where it goes beyond its limits. */
export function boundedEvents(
  stream: ReadableStream<Bytes>,
  most: EventLimits,
  arrival?: Arrival,
): ReadableStream<Bytes> {
  let streamBytes = 0
  let events = 0
  let eventBytes = 0
  let lineBytes = 0
  /** The largest event that has ended since. */
  let largest = 0
  const values = new JsonWork()
  const countEvent = countHeld(arrival)
  const count = (chunk: Bytes): void => {
    // Where the text begins that has not been counted as JSON yet.
    let event = 0
    for (let from = 0; from < chunk.length;) {
      const end = chunk.indexOf(lineFeed, from)
      const until = end < 0 ? chunk.length : end
      const text = until - from
      const blank = text === 0 || (text === 1 && chunk[from] === carriageReturn)
      lineBytes += blank ? 0 : text
      eventBytes += text + (end < 0 ? 0 : 1)
      if (eventBytes > most.eventBytes) {
        throw new EgressFailure("too_large", `The server sent an event of more than ${most.eventBytes} bytes`)
      }
      if (end >= 0) {
        if (lineBytes === 0) {
          largest = Math.max(largest, eventBytes)
          eventBytes = 0
          if (++events > most.events) {
            throw new EgressFailure("too_large", `The server sent more than ${most.events} events`)
          }
          // Each event is a text of its own.
          if (!values.add(chunk.subarray(event, end))) throw tooManyValues()
          values.begin()
          event = end
        }
        lineBytes = 0
      }
      from = until + 1
    }
    if (!values.add(chunk.subarray(event))) throw tooManyValues()
  }
  return stream.pipeThrough(
    new TransformStream<Bytes, Bytes>({
      async transform(chunk, controller) {
        streamBytes += chunk.length
        if (streamBytes > most.bytes) {
          throw new EgressFailure("too_large", `The server sent more than ${most.bytes} bytes of events`)
        }
        largest = 0
        count(chunk)
        const room = countEvent(eventBytes)
        if (room !== null) await room
        // Whoever reads the end of an event parses it.
        await turnToParse(largest, undefined)
        controller.enqueue(chunk)
      },
    }),
  )
}
