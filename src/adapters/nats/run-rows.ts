import type { ErrorKind, LogEvent, RunTrigger, Usage } from "../../log/events.ts"
import { isTerminal } from "../../log/events.ts"
import { usageAfter } from "../../log/usage-after.ts"
import type { NoticeEvent } from "../../ports/notices.ts"
import { endStatus, errorKindOf, openStatus, type RunStatus } from "../../ports/run-list.ts"
import { Damaged, StoreFailure, type WorkflowVersion } from "../../ports/store.ts"
import type { DataKey } from "../../ports/vault.ts"
import { waitsIn } from "../../ports/waits.ts"
import { openRunKey } from "../../store/run-key.ts"
import type { Broker } from "./broker.ts"
import { packFrame } from "./frame.ts"
import type { WatchedVault } from "./key-record.ts"
import { isRunId, padded, type OpenEntry } from "./names.ts"
import { open, type Row, type Rows } from "./rows.ts"
import type { Stored, Write } from "./transport.ts"

/** How a run stands. Every change of a run adds a message to its row, and expects the one that was read to be the last: that alone decides who was first. */
export interface RunFacts {
  readonly caller: string
  readonly created_at: number
  /** Absent for source that a caller sent. */
  readonly workflow?: WorkflowVersion
  /** Absent where a caller started it. */
  readonly trigger?: RunTrigger
  /** The digest of its idempotency key, and until when the key is remembered. */
  readonly key?: string
  readonly key_until?: number
  /** The events that the run notifies of. */
  readonly notify?: readonly NoticeEvent[]
  /** Grows with each owner. */
  readonly fence: number
  /** The process that may append; empty where none may. */
  readonly session: string
  /** The last event's id. */
  readonly last: number
  /** The first event of this message; absent where it has none. */
  readonly first?: number
  /** The nonce of the last message with events. */
  readonly appended?: string
  /** Where earlier messages are, by the last event of each: some of them, ascending. */
  readonly marks?: readonly (readonly [last: number, seq: number])[]
  readonly usage: Usage
  readonly cancel?: true
  /** Parked: it waits, and no outcome has come since. */
  readonly waiting?: true
  /** When it was woken, and nobody has claimed it since. */
  readonly woken_at?: number
  /** Ids of what it waited for whose outcomes the log does not show yet. */
  readonly outcomes?: readonly string[]
  /** It has opened waits. */
  readonly opened?: true
  readonly finished_at?: number
  readonly status?: RunStatus
  readonly error_kind?: ErrorKind
  /** Its only event, in plain text: it ends a run whose key may be what is damaged. */
  readonly failedAsCorrupt?: LogEvent
  /** Tells attempts to write the row apart. */
  readonly nonce: string
}

/** The row of a deleted run. */
interface Tombstone {
  readonly gone: { readonly caller: string; readonly until: number }
}

export interface StoredRun {
  readonly run_id: string
  readonly seq: number
  readonly facts: RunFacts
  /** Its key, wrapped, and the sealed URL that it notifies, or nothing. Events follow them in the messages that have some. */
  readonly parts: readonly [key: Uint8Array, url: Uint8Array]
  /** How many messages after the one with these facts are damaged: each may have been a claim. */
  readonly damaged: number
}

export type FoundRun = ({ readonly found: "run" } & StoredRun) | ({ readonly found: "gone" } & Tombstone["gone"])

const keptKeys = 5_000
const nothing = new Uint8Array(0)
/** From so many marks on, every second one goes. */
const maxMarks = 32

/** Reads the rows of runs, and makes new ones. */
export class RunRows {
  readonly #broker: Broker
  readonly #rows: Rows
  readonly #vault: WatchedVault
  readonly #keys = new Map<string, DataKey>()

  constructor(broker: Broker, rows: Rows, vault: WatchedVault) {
    this.#broker = broker
    this.#rows = rows
    this.#vault = vault
  }

  async find(run_id: string): Promise<FoundRun | null> {
    const stored = isRunId(run_id) ? await this.#broker.row(this.#broker.names.run(run_id)) : null
    if (stored === null) return null
    const { row, damaged } = await this.#readable(stored)
    const { facts, parts } = row
    if ("gone" in facts) return { found: "gone", ...facts.gone }
    const [key = nothing, url = nothing] = parts
    return { found: "run", run_id, seq: stored.seq, facts, parts: [key, url], damaged }
  }

  /** The last message that can be read, and how many after it are damaged. */
  async #readable(newest: Stored): Promise<{ row: Row<RunFacts | Tombstone>; damaged: number }> {
    let found = readable(newest)
    let damaged = 0
    if (found !== null) return { row: found, damaged }
    for (let at = 1; at <= newest.seq;) {
      const stored = await this.#broker.next(newest.subject, at)
      if (stored === null) break
      at = stored.seq + 1
      const row = readable(stored)
      damaged = row === null ? damaged + 1 : 0
      found = row ?? found
    }
    return { row: found ?? open(newest), damaged }
  }

  /** Null for a run that never was, or is gone. */
  async get(run_id: string): Promise<StoredRun | null> {
    const found = await this.find(run_id)
    return found?.found === "run" ? found : null
  }

  /** A run under a root that this process does not have is not damaged: it must not be ended as one that is. */
  async key({ run_id, facts: { caller }, parts }: StoredRun): Promise<DataKey> {
    const known = this.#keys.get(run_id)
    if (known !== undefined) return known
    try {
      return this.remember(run_id, openRunKey(this.#vault, run_id, caller, parts[0]))
    } catch (error) {
      if (!(error instanceof Damaged)) throw error
      const refusal = await this.#vault.look()
      if (refusal !== null) throw new StoreFailure(refusal, error)
      return openRunKey(this.#vault, run_id, caller, parts[0])
    }
  }

  remember(run_id: string, key: DataKey): DataKey {
    this.#keys.set(run_id, key)
    const [oldest] = this.#keys.keys()
    if (this.#keys.size > keptKeys && oldest !== undefined) this.#keys.delete(oldest)
    return key
  }

  forget(run_id: string): void {
    this.#keys.delete(run_id)
  }

  /** What to write for a run that stands as these facts say, if it is still the one that was read. */
  next({ run_id, seq, parts }: StoredRun, facts: RunFacts, events: readonly Uint8Array[] = []): Write[] {
    return this.write(run_id, facts, [...parts, ...events], seq)
  }

  write(run_id: string, facts: RunFacts, parts: readonly Uint8Array[], expected: number): Write[] {
    return this.#rows.pack(run_id, this.#broker.names.run(run_id), facts, parts, { expected })
  }

  /** With a name for one attempt to write them. */
  named(facts: Omit<RunFacts, "nonce">): RunFacts {
    const { first: _, ...rest } = facts
    return { ...rest, nonce: this.#broker.token(9) }
  }

  bury(run_id: string, gone: Tombstone["gone"], expected: number, ttlMs: number): Write {
    return { subject: this.#broker.names.run(run_id), data: packFrame({ gone }, []), expected, ttlMs }
  }

  /** The entry that finds a run which has not ended and does not wait, as these facts say. */
  openEntry(run_id: string, facts: RunFacts): Write {
    return { subject: this.#broker.names.open(openEntry(run_id, facts)), data: packFrame({}, []) }
  }

  /** Its removal does no harm, however late: the entry of another owner has another name. */
  openSubject(run_id: string, facts: RunFacts): string {
    return this.#broker.names.open(openEntry(run_id, facts))
  }
}

export function openEntry(run_id: string, facts: RunFacts): OpenEntry {
  const { fence, session, created_at, woken_at } = facts
  const state = session === "" ? "free" : "held"
  const order = woken_at === undefined ? padded(created_at) : `${padded(woken_at)}-${padded(created_at)}`
  return { kind: woken_at === undefined ? "r" : "w", order, run_id, fence, state }
}

function readable(stored: Stored): Row<RunFacts | Tombstone> | null {
  try {
    return open(stored)
  } catch (error) {
    if (error instanceof Damaged) return null
    throw error
  }
}

/** Whether the index of open runs has an entry for it. */
export function isOpen({ finished_at, waiting }: RunFacts): boolean {
  return finished_at === undefined && waiting !== true
}

/** The facts of a run whose log has these events, too. */
export function afterEvents({ facts: before, seq }: StoredRun, events: readonly LogEvent[], now: number): RunFacts {
  const [first, last] = [events[0], events.at(-1)]
  if (first === undefined || last === undefined) return before
  const { opened, taken } = waitsIn(events)
  const { outcomes: reported = [], ...rest } = before
  const outcomes = reported.filter((id) => !taken.includes(id))
  const facts: RunFacts = {
    ...rest,
    first: first.id,
    last: last.id,
    marks: marksAfter(before.marks ?? [], before.last, seq),
    usage: events.reduce(usageAfter, before.usage),
    ...(opened.length > 0 && { opened: true }),
  }
  if (isTerminal(last.type)) return ended(facts, last)
  const open = outcomes.length === 0 ? facts : { ...facts, outcomes }
  return last.type === "run_waiting" ? parked(open, now) : open
}

function marksAfter(marks: NonNullable<RunFacts["marks"]>, last: number, seq: number): NonNullable<RunFacts["marks"]> {
  const more = [...marks, [last, seq] as const]
  return more.length <= maxMarks ? more : more.filter((_, index) => index % 2 === 1)
}

/** The facts of a run that ended with this event. Its fence stays, so that its last owner knows its end. */
export function ended(facts: RunFacts, end: LogEvent): RunFacts {
  const error_kind = errorKindOf(end)
  return {
    ...facts,
    last: end.id,
    finished_at: Date.parse(end.at),
    status: endStatus(end),
    ...(error_kind !== null && { error_kind }),
  }
}

/** No process holds it. What has come meanwhile wakes it at once. */
function parked(facts: RunFacts, now: number): RunFacts {
  const free: RunFacts = { ...facts, fence: facts.fence + 1, session: "" }
  const isWoken = facts.cancel === true || (facts.outcomes ?? []).length > 0
  return isWoken ? { ...free, woken_at: now } : { ...free, waiting: true }
}

/** The facts of a run after an outcome or a cancel has come: one that waits can be claimed. */
export function woken(facts: RunFacts, now: number): RunFacts {
  if (facts.waiting !== true) return facts
  const { waiting: _, ...awake } = facts
  return { ...awake, woken_at: now }
}

/** The facts of a run that a process has taken over. */
export function claimed({ facts, damaged }: StoredRun, session: string): RunFacts {
  const { woken_at: _, ...rest } = facts
  return { ...rest, fence: facts.fence + 1 + damaged, session }
}

export function statusOf({ status, cancel, waiting, last }: RunFacts): RunStatus {
  return status ?? openStatus({ cancel_requested: cancel === true, waiting: waiting === true, begun: last > 0 })
}
