import type { JsonValue } from "../../base/json-value.ts"
import { isTerminal, type LogEvent, type RunTrigger } from "../../log/events.ts"
import type { CausedNotice, NoticeEvent } from "../../ports/notices.ts"
import type { RunRequest, WorkflowVersion } from "../../ports/store.ts"
import { questionsIn } from "../../ports/question-store.ts"
import type { DataKey } from "../../ports/vault.ts"

// A run's log is a row of slots, numbered 0, 1, 2 … without gaps, each written once and never again. The process that fills
// a slot first owns it: nothing else fences the log. A claim fills a slot as an append does, so that the broker refuses the
// previous owner, which still wants that slot for its next append.

/** In each slot, so that the last one alone tells how the run stands. */
export interface Standing {
  /** Tells our own attempts from others'. */
  readonly nonce: string
  readonly fence: number
  /** The process that may fill the next slot. */
  readonly session: string
  /** The last event's id, this slot included. */
  readonly last: number
  /** In how many pieces each part is stored; a part with 0 is here. */
  readonly cut?: readonly number[]
  /** Ids of questions whose outcomes the log does not show, this slot included. Absent: there are none. */
  readonly asking?: readonly string[]
  /** The run has asked questions, and has waited for people. */
  readonly asked?: true
  readonly waited?: true
}

/** What every slot repeats of the one before it. */
export type Carried = Pick<Standing, "asking" | "asked" | "waited">

export function carriedOn({ asking, asked, waited }: Carried): Carried {
  return {
    ...(asking === undefined ? {} : { asking }),
    ...(asked === undefined ? {} : { asked }),
    ...(waited === undefined ? {} : { waited }),
  }
}

/** What a slot with these events says. */
export function carriedBy(before: Carried, events: readonly LogEvent[]): Carried {
  const { asked, taken } = questionsIn(events)
  const asking = [...(before.asking ?? []), ...asked.map(({ data }) => data.id)].filter((id) => !taken.includes(id))
  return {
    ...(asking.length === 0 ? {} : { asking }),
    ...(before.asked === true || asked.length > 0 ? { asked: true } : {}),
    ...(before.waited === true || parksWith(events) ? { waited: true } : {}),
  }
}

export interface HeadFacts extends Standing {
  readonly kind: "head"
  readonly caller: string
  readonly created_at: number
  /** For earlier releases, which cancel a run without it instead of resuming it. */
  readonly resumable: true
  /** Absent for source that a caller sent. */
  readonly workflow?: WorkflowVersion
  /** Absent where a caller started it. */
  readonly trigger?: RunTrigger
  readonly once: string | null
  /** The events that the run notifies of. */
  readonly notify?: readonly NoticeEvent[]
}

export interface EventsFacts extends Standing {
  readonly kind: "events"
  /** When the run ended, if it ends here. */
  readonly end: number | null
  /** The one event of this slot, in plain text: it ends a run whose key may be what is damaged. */
  readonly condemned?: LogEvent
  /** From here on the run waits for people: no process holds a lease. */
  readonly parked?: true
  /** What the last event of the slot notifies of, where the run asks for it. */
  readonly caused?: CausedNotice
}

export type SlotFacts =
  | HeadFacts
  | EventsFacts
  | (Standing & { readonly kind: "claim" | "release" })
  /** The owner, late with a renewal, still holds the lease. */
  | (Standing & { readonly kind: "renewal" })
  /** In slot 0: this run was never made, and never will be. */
  | (Standing & { readonly kind: "void" })

export interface Slot {
  readonly slot: number
  readonly facts: SlotFacts
  readonly parts: readonly Uint8Array[]
  /** How many slots, up to this one, are damaged: the facts are those of the slot before them. */
  readonly damaged?: number
}

export function endOf(facts: SlotFacts): number | null {
  return facts.kind === "events" ? facts.end : null
}

export function isParked(facts: SlotFacts): boolean {
  return facts.kind === "events" && facts.parked === true
}

export interface SealedEvents {
  /** JSON of what everyone may see. */
  readonly text: string
  /** That, and, where there is any, what only a continuation needs. */
  readonly parts: readonly Uint8Array[]
}

export function sealEvents(key: DataKey, slot: number, events: readonly LogEvent[]): SealedEvents {
  const kept = events.flatMap((event) => (event.kept === undefined ? [] : [[event.id, event.kept] as const]))
  const shown = kept.length === 0 ? events : events.map((event) => ({ ...event, kept: undefined }))
  const text = JSON.stringify(shown)
  const body = key.seal(`events in slot ${slot}`, text)
  if (kept.length === 0) return { text, parts: [body] }
  return { text, parts: [body, key.seal(`kept in slot ${slot}`, JSON.stringify(kept))] }
}

export function openEvents(key: () => DataKey, { slot, facts, parts }: Slot, withKept: boolean): LogEvent[] {
  if (facts.kind === "events" && facts.condemned !== undefined) return [facts.condemned]
  const [body, kept] = parts
  if (body === undefined) return []
  const events = JSON.parse(key().open(`events in slot ${slot}`, body)) as LogEvent[]
  if (!withKept || kept === undefined) return events
  const more = new Map(JSON.parse(key().open(`kept in slot ${slot}`, kept)) as [number, JsonValue][])
  return events.map((event) => {
    const value = more.get(event.id)
    return value === undefined ? event : { ...event, kept: value }
  })
}

/** When the run ends with these events; null when it does not. */
export function endWith(events: readonly LogEvent[]): number | null {
  const last = events.at(-1)
  return last !== undefined && isTerminal(last.type) ? Date.parse(last.at) : null
}

/** Whether the run waits for people after these events. */
export function parksWith(events: readonly LogEvent[]): boolean {
  return events.at(-1)?.type === "run_waiting"
}

/** Without its secrets, and with the caller before the rest: the name in the head's facts is not sealed. */
export function sealRequest(key: DataKey, caller: string, request: Omit<RunRequest, "secrets">): Uint8Array {
  return key.seal("request", JSON.stringify({ caller, ...request }))
}

export function openRequest(key: DataKey, sealed: Uint8Array): Omit<RunRequest, "secrets"> {
  const { caller: _, ...request } = JSON.parse(key.open("request", sealed)) as Omit<RunRequest, "secrets"> & {
    readonly caller: string
  }
  return request
}

/** Whether a run is of the caller that its head names. */
export function isOfCaller(key: DataKey, sealed: Uint8Array, caller: string): boolean {
  return key.open("request", sealed).startsWith(JSON.stringify({ caller }).slice(0, -1))
}

// What sealed things are about: changing these makes what is stored unreadable.

export function aboutRun(run_id: string): string {
  return `run ${run_id}`
}

export function aboutSecrets(run_id: string): string {
  return `secrets of run ${run_id}`
}

export function aboutCache(subject: string): string {
  return `cache ${subject}`
}

export function aboutNotice(run_id: string, event_id: number): string {
  return `notice ${event_id} of run ${run_id}`
}

export function aboutOutcome(id: string): string {
  return `outcome of question ${id}`
}
