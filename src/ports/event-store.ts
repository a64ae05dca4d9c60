import { canonicalJson } from "../base/canonical-json.ts"
import type { JsonValue } from "../base/json-value.ts"

// Events that callers send. Each is stored before open waits are looked for, and a wait is stored open before it looks for events that are kept: so neither misses
// the other. Which waits took an event is stored in the step that settles the wait.

/** An event as it arrives. */
export interface NewEvent {
  readonly caller: string
  /** Runs of all callers may take it. */
  readonly everyone: boolean
  /** The sender's id; null where it gives none. */
  readonly id: string | null
  /** The webhook that it came through: ids of two senders are not compared. Empty for one of the caller's own. */
  readonly source: string
  readonly name: string
  readonly key: string
  readonly data: JsonValue
  /** How long it is kept when no open wait takes it; 0: not at all. */
  readonly keep_seconds: number
}

/** `arriving`: whoever received it looks for open waits. `over`: nobody takes it any more. */
export type EventStatus = "arriving" | "kept" | "over"

/** An event that waits can take. */
export interface SentEvent extends Omit<NewEvent, "keep_seconds"> {
  /** Within the store; later events have larger ones. */
  readonly number: number
  readonly status: EventStatus
  readonly received_at: number
  /** Null for one that is not kept. */
  readonly keep_until: number | null
}

/** What its sender is told, also when it sends the event again. */
export interface EventAnswer {
  readonly delivered: number
  readonly kept: boolean
}

/** `answer`: null while the event arrives. */
export type Receipt =
  | { readonly outcome: "stored"; readonly number: number }
  | { readonly outcome: "known"; readonly number: number; readonly answer: EventAnswer | null }
  /** The id of another event. */
  | { readonly outcome: "conflict" }
  | { readonly outcome: "full"; readonly of: "ids" | "kept" }

/** `gone`: the event is over, or the wait was opened after it had come and another one has taken it. `settled`: something else had settled the wait. */
export type Delivery = "delivered" | "gone" | "settled"

export interface EventStore {
  /** Stores it, unless its caller has sent an event with the id within the last 30 days. */
  receive(event: NewEvent): Promise<Receipt>
  /** An event that is not over, or null. */
  one(number: number): Promise<SentEvent | null>
  /** Those that a wait of the caller can take: kept ones, and those that arrive and would be kept. The oldest first. */
  waiting(caller: string, name: string, key: string): Promise<readonly SentEvent[]>
  /** In one step: the event becomes the outcome of the wait, and counts as delivered. A kept one is over then. */
  deliver(number: number, run_id: string, wait: string, data: JsonValue): Promise<Delivery>
  /** Nobody looks for open waits any more. `forget`: where nobody took it and it is not kept, its id is not remembered. */
  close(number: number, forget: boolean): Promise<EventAnswer>
  /** Those that arrived before, and whose receiver must have died. */
  unfinished(before: number): Promise<readonly number[]>
  /** The kept ones of a caller. `after`: the number of the last one of the page before. */
  kept(caller: string, limit: number, after: number): Promise<readonly SentEvent[]>
  /** Drops a kept one by the id that its sender gave, or that it was given. False where there is none. */
  drop(caller: string, id: string): Promise<boolean>
}

/** How long ids are remembered. */
export const rememberedMs = 30 * 24 * 3_600_000
export const mostEventIds = 1_000_000
export const mostKeptEvents = 10_000
/** The body of an event is no larger, and its key no longer. */
export const mostEventBytes = 64 * 1024
export const mostKeyLength = 500

/** Until when an event is kept that was received then. */
export function keepUntil(received_at: number, { keep_seconds }: NewEvent): number | null {
  return keep_seconds === 0 ? null : received_at + Math.round(keep_seconds * 1000)
}

/** What the contents of two events with one id are compared by. */
export function eventFingerprint({ name, key, data }: NewEvent): string {
  return canonicalJson([name, key, data])
}

/** The id by which its caller drops a kept event. It stands in an address, so that it has no character that means something there. */
export function idOf({ id, number }: Pick<SentEvent, "id" | "number">): string {
  return id ?? `event-${number}`
}
