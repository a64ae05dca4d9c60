import { askedQuestion } from "../log/asked-question.ts"
import type { JsonValue } from "../base/json-value.ts"
import type { AnsweredBy, AskedQuestion, LogEvent, StartedWait } from "../log/events.ts"
import type { Alarm, BatchProgress } from "../log/replay-data.ts"
import { replayData } from "../log/replay/replay-scope.ts"

// The one table of what runs wait for: (run, id, kind, key, due time), with an outcome that is written once.
//
// Everything begins with an append. The event that opens a wait opens it in the same step, the event that shows its outcome says that the run has taken it
// in, and a terminal event withdraws what is open. `run_waiting`, the last event of its append, parks the run. So there is no moment in which the log and
// this table disagree.
//
// An alarm (a batch, a budget) is a wait of a parked run alone: `run_waiting` arms it, `run_continued` deletes it. What it wakes the run for, the run finds out
// by itself.

export interface GivenAnswer {
  readonly answer: JsonValue
  readonly answered_by: AnsweredBy
}

/** An event that a wait took. */
export interface GivenEvent {
  readonly data: JsonValue
}

/** What a wait of each kind is about, and what settles it. A new kind is a row here, a row of `waitKinds`, and its events are cases of `waitsIn`. */
export interface WaitKinds {
  readonly question: { readonly about: AskedQuestion; readonly outcome: GivenAnswer }
  /** Nobody ends it but its time; a command may skip it. */
  readonly time: { readonly about: StartedWait; readonly outcome: null }
  readonly event: { readonly about: StartedWait; readonly outcome: GivenEvent }
  readonly batch: AlarmKind
  readonly budget: AlarmKind
}

interface AlarmKind {
  readonly about: { readonly key: string | null; readonly progress?: BatchProgress }
  /** Nothing more than that it was settled. */
  readonly outcome: null
}

export type WaitKind = keyof WaitKinds
type About<K extends WaitKind> = WaitKinds[K]["about"]
type Outcome<K extends WaitKind> = WaitKinds[K]["outcome"]

interface KindRules<K extends WaitKind> {
  /** What finds the waits of one key, whoever's they are. It is part of what is sealed, so that nobody can change it in the store. */
  readonly keyOf: (about: About<K>) => string | null
}

export const waitKinds: { readonly [K in WaitKind]: KindRules<K> } = {
  // Whom the question is for: a group, or a label.
  question: { keyOf: ({ to }) => to },
  time: { keyOf: () => null },
  // The name of the event and its key.
  event: { keyOf: ({ event = "", key = "" }) => eventKey(event, key) },
  batch: { keyOf: ({ key }) => key },
  budget: { keyOf: ({ key }) => key },
}

/** Finds the waits for an event. */
export function eventKey(name: string, key: string): string {
  return JSON.stringify([name, key])
}

/** `due`: its time had come before anything settled it. `withdrawn`: the run ended while it was open, or moved to a version that does not ask it. */
export type WaitStatus = "open" | "settled" | "due" | "withdrawn"

/** A wait that an event opens. */
export interface OpenedWait<K extends WaitKind = WaitKind> {
  readonly kind: K
  /** Unique among all waits of its run. */
  readonly id: string
  readonly key: string | null
  readonly opened_at: number
  /** From then on nothing settles it, by the store's clock. */
  readonly due_at: number
  readonly event_id: number
  readonly about: About<K>
}

export interface Wait<K extends WaitKind = WaitKind> {
  readonly kind: K
  readonly run_id: string
  readonly id: string
  /** An open one is `due` from its time on, whether or not any process has stored that. */
  readonly status: WaitStatus
  readonly about: About<K>
  /** Null unless it is settled. */
  readonly outcome: Outcome<K> | null
  readonly settled_at: number | null
}

/** An outcome that the log does not show yet. */
export interface WaitOutcome<K extends WaitKind = WaitKind> {
  readonly kind: K
  readonly id: string
  readonly status: Exclude<WaitStatus, "open">
  /** Null unless it is settled. */
  readonly outcome: Outcome<K> | null
}

/** A part of a list of waits. */
export interface WaitPage<K extends WaitKind = WaitKind> {
  /** The oldest first, each with its position: a page may begin after it. Fewer than were asked for where they are large. */
  readonly found: readonly { readonly wait: Wait<K>; readonly position: string }[]
  /** Where the page after it begins; null for the last one. */
  readonly next: string | null
}

/** Which waits are looked for: those of a caller's runs, those with a key, or both. */
export type WaitFilter =
  | { readonly caller: string; readonly key?: string; readonly butKeys?: readonly string[] }
  | { readonly caller?: undefined; readonly key: string }

export interface WaitQuery<K extends WaitKind = WaitKind> {
  readonly kind: K
  readonly status: WaitStatus
  /** Waits that fit one of these filters. */
  readonly any: readonly WaitFilter[]
  readonly limit: number
  /** The position of the last wait of the page before; null for the first page. */
  readonly after: string | null
}

/** `stored`: this is the outcome. Otherwise the wait as it stands: its status says why it came too late. */
export interface Settling<K extends WaitKind = WaitKind> {
  readonly stored: boolean
  readonly wait: Wait<K>
}

export interface WaitCounts {
  /** Runs that are parked. */
  readonly runs: number
  /** Open waits of each kind, including those that are due without that being stored yet, and when the oldest was opened: null without any. */
  readonly open: Readonly<Record<WaitKind, { readonly count: number; readonly oldest_at: number | null }>>
}

export interface WaitStore {
  /** The waits of a run; none for a run that does not exist. */
  ofRun<K extends WaitKind>(run_id: string, kind: K, limit: number, after: string | null): Promise<WaitPage<K>>
  one<K extends WaitKind>(run_id: string, kind: K, id: string): Promise<Wait<K> | null>
  list<K extends WaitKind>(query: WaitQuery<K>): Promise<WaitPage<K>>
  /**
   * Stores the outcome, once and for all, and wakes the run if it is parked. The first of an outcome, the due time and the end of the run wins; from
   * `due_at` on an outcome loses by the store's clock, whether or not anybody has noticed. Null where there is no such wait.
   */
  settle<K extends WaitKind>(run_id: string, kind: K, id: string, outcome: Outcome<K>): Promise<Settling<K> | null>
  /** When the next of the open waits is due, in milliseconds since the epoch; null where none is open. Cheap. */
  nextDue(): Promise<number | null>
  /** Stores that open waits are due whose time has come, and wakes the runs that are parked. How many; cheap where none is. */
  settleDue(): Promise<number>
  /** Outcomes that the log of the run does not show yet, the oldest wait first. */
  outcomes(run_id: string): Promise<WaitOutcome[]>
  /**
   * Calls back with a run's id when an outcome of one of its waits was stored, or a parked run was cancelled, by whatever process: at once as a rule,
   * within five seconds in any case, perhaps more than once. The result stops listening.
   */
  onOutcome(listener: (run_id: string) => void): () => void
  /** How many runs of the caller are parked. */
  parked(caller: string): Promise<number>
  /** Counts for all callers, for an operator. May be some seconds old. */
  counts(): Promise<WaitCounts>
}

/** Kinds of alarms. */
export const alarmKinds = ["batch", "budget"] as const satisfies readonly WaitKind[]

export function isAlarm(kind: WaitKind): boolean {
  return alarmKinds.some((alarm) => alarm === kind)
}

/** The waits that an append opens, the ids of those whose outcomes it takes in, or that it withdraws, and whether it disarms the alarms of the run. */
export function waitsIn(events: readonly LogEvent[]): {
  readonly opened: readonly OpenedWait[]
  readonly taken: readonly string[]
  readonly withdrawn: readonly string[]
  readonly disarms: boolean
} {
  const opened: OpenedWait[] = []
  const taken: string[] = []
  const withdrawn: string[] = []
  let disarms = false
  for (const event of events) {
    if (event.type === "question_asked") {
      const about = askedQuestion(event.data)
      const [opened_at, due_at] = [Date.parse(about.asked_at), Date.parse(about.expires_at)]
      const key = waitKinds.question.keyOf(about)
      opened.push({ kind: "question", id: about.id, key, opened_at, due_at, event_id: event.id, about })
    } else if (event.type === "wait_started") {
      const { at: _at, ...about } = event.data
      const { id, until, expires_at = "" } = about
      const kind = until === undefined ? "event" : "time"
      const due_at = Date.parse(until ?? expires_at)
      opened.push({
        kind,
        id,
        key: waitKinds[kind].keyOf(about),
        opened_at: Date.parse(event.at),
        due_at,
        event_id: event.id,
        about,
      })
    } else if (event.type === "wait_ended") taken.push(event.data.id)
    else if (event.type === "question_answered" || event.type === "question_expired") taken.push(event.data.id)
    else if (event.type === "question_withdrawn") withdrawn.push(event.data.id)
    else if (event.type === "run_continued" || event.type === "run_moved") disarms = true
    else if (event.type === "run_waiting") {
      const opened_at = Date.parse(event.at)
      opened.push(...armed(replayData(event)?.alarms ?? [], opened_at, event.id))
    }
  }
  // A wait that ends at once is over before anybody could find it.
  const over = new Set(taken)
  return { opened: opened.filter(({ id }) => !over.has(id)), taken, withdrawn, disarms }
}

/** The waits that alarms are. */
export function armed(alarms: readonly Alarm[], opened_at: number, event_id: number): OpenedWait[] {
  return alarms.map(({ kind, id, key, due_at, progress }) => {
    const about = progress === undefined ? { key } : { key, progress }
    return { kind, id, key, opened_at, due_at, event_id, about }
  })
}

/** Open waits, by their kinds. */
export function countOpen(waits: Iterable<Pick<OpenedWait, "kind" | "opened_at">>): WaitCounts["open"] {
  const open = noneOpen()
  for (const { kind, opened_at } of waits) {
    const { count, oldest_at } = open[kind]
    open[kind] = { count: count + 1, oldest_at: Math.min(oldest_at ?? opened_at, opened_at) }
  }
  return open
}

export function noneOpen(): { -readonly [K in WaitKind]: WaitCounts["open"][K] } {
  const none = { count: 0, oldest_at: null }
  return { question: none, time: none, event: none, batch: none, budget: none }
}

/** Whether a query is for a wait of a caller's run: what an index says of it is not enough. */
export function isAskedFor<K extends WaitKind>({ kind, any }: WaitQuery<K>, caller: string, wait: Wait<K>): boolean {
  const key = waitKinds[kind].keyOf(wait.about)
  return any.some((filter) => fits(filter, caller, key))
}

/** Also for the keyed hashes of caller and key. */
export function fits(filter: WaitFilter, caller: string, key: string | null): boolean {
  if (filter.key !== undefined && filter.key !== key) return false
  if (filter.caller === undefined) return true
  return filter.caller === caller && (key === null || filter.butKeys?.includes(key) !== true)
}

/** How an open wait stands. `finished_at`: the end of its run. */
export function openStatusOf(due_at: number, now: number, finished_at: number | null = null): WaitStatus {
  if (due_at <= (finished_at ?? now)) return "due"
  return finished_at === null ? "open" : "withdrawn"
}

/** A page ends when its waits have taken this many bytes in the store. */
export const waitPageBytes = 1024 * 1024

/** The first of these that fit on a page. `bytes`: what one of them takes. */
export function cutPage<Item>(
  items: readonly Item[],
  limit: number,
  bytes: (item: Item) => number,
): { readonly fitting: readonly Item[]; readonly more: boolean } {
  let taken = 0
  let count = 0
  for (const item of items.slice(0, limit)) {
    taken += bytes(item)
    if (count > 0 && taken > waitPageBytes) break
    count++
  }
  return { fitting: items.slice(0, count), more: count < items.length }
}
