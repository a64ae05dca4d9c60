import { parseInOrder } from "../base/ordered-object.ts"
import type { JsonValue } from "../base/json-value.ts"
import type { LogEvent } from "../log/events.ts"
import type { DataKey } from "../ports/vault.ts"

// What sealed things are about: changing these makes what is stored unreadable.

export function aboutCache(entry: Uint8Array): string {
  return `cache ${Buffer.from(entry).toString("hex")}`
}

function aboutEvents(last: number): string {
  return `events to ${last}`
}

function aboutKept(last: number): string {
  return `kept to ${last}`
}

/** Events as JSON, before they are sealed. */
export interface EventsText {
  /** What everyone may see of them. */
  readonly text: string
  /** What only a continuation needs, by event; null where there is nothing. */
  readonly kept: string | null
  /** The id of the last of them. */
  readonly last: number
}

export type SealedEvents = readonly [body: Uint8Array, kept: Uint8Array | null]

/** Up to this many characters that only a continuation needs are sealed with their events: a separate seal costs more than to skip them. */
const smallKept = 2048

export function textOfEvents(events: readonly LogEvent[], last: number): EventsText {
  const kept: (readonly [number, unknown])[] = []
  const shown = events.map((event) => {
    if (event.kept === undefined) return event
    kept.push([event.id, event.kept])
    return { ...event, kept: undefined }
  })
  return { text: JSON.stringify(shown), kept: kept.length === 0 ? null : JSON.stringify(kept), last }
}

/**
 * One row for all events of an append. What only a continuation needs follows them on a line of its own, or, if it is large, stands
 * apart, so that followers need not read it. The run's request, where it is given, is the third line. JSON text has no line breaks.
 */
export function sealEvents(
  key: DataKey,
  { text, kept, last }: EventsText,
  request: string | null = null,
): SealedEvents {
  const about = aboutEvents(last)
  const small = kept !== null && kept.length <= smallKept ? kept : null
  const lines = request !== null ? `${text}\n${small ?? ""}\n${request}` : small !== null ? `${text}\n${small}` : text
  const apart = kept === null || small !== null ? null : key.seal(aboutKept(last), kept)
  return [key.seal(about, lines), apart]
}

/** The one event of a condemned run. */
export function sealEnd(key: DataKey, end: LogEvent): Uint8Array {
  return key.seal("end", JSON.stringify(end))
}

/** What a row of events holds, line by line. */
function linesOf(key: DataKey, last: number, body: unknown): { shown: string; kept?: string; request?: string } {
  const [shown = "", kept = "", request] = key.open(aboutEvents(last), body as Uint8Array).split("\n")
  return { shown, ...(kept !== "" && { kept }), ...(request !== undefined && { request }) }
}

/** The run's request, where the row of its first events holds it. */
export function requestOf(key: DataKey, last: number, body: unknown): string | undefined {
  return linesOf(key, last, body).request
}

/** Opens the events of a row, as everyone may see them. */
export function openEvents(key: DataKey, last: number, body: unknown): LogEvent[] {
  return parseInOrder(linesOf(key, last, body).shown) as LogEvent[]
}

/** With what was kept for a continuation. */
export function openWithKept(key: DataKey, last: number, body: unknown, apart: unknown): LogEvent[] {
  const { shown, kept: small } = linesOf(key, last, body)
  const events = parseInOrder(shown) as LogEvent[]
  const kept = apart instanceof Uint8Array ? key.open(aboutKept(last), apart) : small
  if (kept === undefined) return events
  const more = new Map(parseInOrder(kept) as [number, JsonValue][])
  return events.map((event) => {
    const value = more.get(event.id)
    return value === undefined ? event : { ...event, kept: value }
  })
}
