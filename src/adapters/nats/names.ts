import type { WaitKind } from "../../ports/waits.ts"

// Streams and subjects. `wire` below is the prefix, so that several services can share a broker.
//
// The stream of rows: a subject is a row, and its newest message is what the row says. A write of several rows is one batch.
//
//   wire.rows.run.RUN               how a run stands: owner, last event, status, usage. Its messages are the run's log: each has the events that were
//                                   appended with it, if any. After the deletion, the tombstone
//   wire.rows.request.RUN           its request
//   wire.rows.secrets.RUN           its secrets, until it ends
//   wire.rows.wait.RUN.ID           what it waits for, of any kind. Written once
//   wire.rows.outcome.RUN.ID        what has come of it. Written once
//   wire.rows.cancel.RUN            a cancel request
//   wire.rows.notice.RUN.EVENT      a notice
//   wire.rows.key.DIGEST            an idempotency key
//   wire.rows.trigger.NAME          the mark of a schedule, and what happened last
//   wire.rows.pause.NAME            whether a schedule or webhook is paused
//   wire.rows.mark                  the keys of the store, wrapped by the master key
//   wire.rows.piece.RUN.TOKEN.N     a piece of a part that is too large for its message
//
// Entries of indexes have no content. Each is made in the batch that changes its row, and no entry is ever made again with the same name, so that it can be removed at any
// time after its row has moved on.
//
//   wire.rows.open.KIND.ORDER.RUN.FENCE.STATE     a run that has not ended and does not wait. KIND: `w` woken, `r` others. STATE: `free` or `held`
//   wire.rows.parked.CALLER.RUN.FENCE             a run that waits
//   wire.rows.ended.RUN                           a run that has ended, in the order of their ends
//   wire.rows.deleted.RUN                         a deleted run of which not all is deleted yet
//   wire.rows.listed.CALLER.WORKFLOW.CREATED_AT.RUN   the list of runs; caller and workflow in Base64
//   wire.rows.due.HOUR.DUE_AT.KIND.CALLER.KEY.OPENED_AT.RUN.EVENT.ID   an open wait; the hour is that of its due time
//   wire.rows.settled.KIND.CALLER.KEY.OPENED_AT.RUN.EVENT.ID           a wait with an outcome
//   wire.rows.pending.RUN.EVENT                   a notice that is to be delivered
//
//   wire.cache.SLOT.ENTRY           a cached answer
//   wire.alive.SESSION              the leases that one process holds
//   wire.live.>                     core subjects: what has just been stored as wire.rows.>

export type StreamName = "rows" | "cache" | "alive"

export type Names = ReturnType<typeof namesOf>

/** Sorts like the number. */
export const padded = (value: number): string => String(value).padStart(15, "0")

export function namesOf(prefix: string) {
  const rows = `${prefix}.rows`
  return {
    prefix,
    stream: (name: StreamName) => `${prefix.toUpperCase()}_${name.toUpperCase()}`,
    run: (run_id: string) => `${rows}.run.${run_id}`,
    request: (run_id: string) => `${rows}.request.${run_id}`,
    secrets: (run_id: string) => `${rows}.secrets.${run_id}`,
    anySecrets: `${rows}.secrets.*`,
    wait: (run_id: string, token: string) => `${rows}.wait.${run_id}.${token}`,
    waitsOf: (run_id: string) => `${rows}.wait.${run_id}.*`,
    outcome: (run_id: string, token: string) => `${rows}.outcome.${run_id}.${token}`,
    outcomesOf: (run_id: string) => `${rows}.outcome.${run_id}.*`,
    cancel: (run_id: string) => `${rows}.cancel.${run_id}`,
    notice: (run_id: string, event_id: number | string) => `${rows}.notice.${run_id}.${event_id}`,
    noticesOf: (run_id: string) => `${rows}.notice.${run_id}.*`,
    key: (digest: string) => `${rows}.key.${digest}`,
    trigger: (id: string) => `${rows}.trigger.${word(id)}`,
    pause: (id: string) => `${rows}.pause.${word(id)}`,
    mark: `${rows}.mark`,
    piece: (run_id: string, token: string, piece: number) => `${rows}.piece.${run_id}.${token}.${piece}`,
    piecesOf: (run_id: string) => `${rows}.piece.${run_id}.>`,
    open: (entry: OpenEntry) =>
      `${rows}.open.${entry.kind}.${entry.order}.${entry.run_id}.${entry.fence}.${entry.state}`,
    anyOpen: `${rows}.open.>`,
    parked: (caller: string, run_id: string, fence: number | string) => `${rows}.parked.${caller}.${run_id}.${fence}`,
    ended: (run_id: string) => `${rows}.ended.${run_id}`,
    anyEnded: `${rows}.ended.*`,
    deleted: (run_id: string) => `${rows}.deleted.${run_id}`,
    anyDeleted: `${rows}.deleted.*`,
    listed: ({ caller, workflow, created_at, run_id }: ListedNames) =>
      `${rows}.listed.${word(caller)}.${word(workflow ?? "")}.${padded(created_at)}.${run_id}`,
    /** All entries of a caller, or of one workflow of its runs; null for those of all callers. */
    listedOf: (caller: string | null, workflow: string | null) =>
      `${rows}.listed.${anyOr(caller)}.${anyOr(workflow)}.>`,
    due: (entry: WaitEntry) => `${rows}.due.${hourOf(entry.due_at)}.${padded(entry.due_at)}.${tailOf(entry)}`,
    /** Open waits of a caller and a key, `*` for any. */
    dueOf: (kind: WaitKind, caller: string, key: string) => `${rows}.due.*.*.${kind}.${caller}.${key}.>`,
    dueIn: (hour: number) => `${rows}.due.${hour}.>`,
    dueOfRun: (run_id: string) => `${rows}.due.*.*.*.*.*.*.${run_id}.>`,
    anyDue: `${rows}.due.>`,
    settled: (entry: WaitEntry) => `${rows}.settled.${tailOf(entry)}`,
    settledOf: (kind: WaitKind, caller: string, key: string) => `${rows}.settled.${kind}.${caller}.${key}.>`,
    pending: (run_id: string, event_id: number | string) => `${rows}.pending.${run_id}.${event_id}`,
    anyPending: `${rows}.pending.>`,
    cache: (slot: string, entry: string) => `${prefix}.cache.${slot}.${entry}`,
    alive: (session: string) => `${prefix}.alive.${session}`,
    anyoneAlive: `${prefix}.alive.*`,
    /** Where what is stored at a subject of the rows is announced. */
    live: (subject: string) => `${prefix}.live${subject.slice(rows.length)}`,
    anyCancel: `${rows}.cancel.*`,
    anyOutcome: `${rows}.outcome.*.*`,
  }
}

/** A run that has not ended and does not wait, as the index of open runs names it. */
export interface OpenEntry {
  readonly kind: "w" | "r"
  /** Entries of one kind are claimed in this order. */
  readonly order: string
  readonly run_id: string
  readonly fence: number
  readonly state: "free" | "held"
}

export function openEntryOf(subject: string): OpenEntry {
  const [kind, order = "", run_id = "", fence, state] = subject.split(".").slice(-5)
  return {
    kind: kind === "w" ? "w" : "r",
    order,
    run_id,
    fence: Number(fence),
    state: state === "free" ? "free" : "held",
  }
}

export interface ListedNames {
  readonly caller: string
  readonly workflow: string | null
  readonly created_at: number
  readonly run_id: string
}

/** A wait as indexes name it. Caller and key are keyed hashes; `-` where the wait has no key. */
export interface WaitEntry {
  readonly kind: WaitKind
  readonly run_id: string
  readonly id: string
  readonly event_id: number
  readonly caller: string
  readonly key: string
  readonly opened_at: number
  readonly due_at: number
}

function tailOf({ kind, caller, key, opened_at, run_id, event_id, id }: WaitEntry): string {
  return `${kind}.${caller}.${key}.${padded(opened_at)}.${run_id}.${padded(event_id)}.${tokenOfId(id)}`
}

/** What the subject of a wait's entry says. `due_at` only of an open one. */
export function waitAt(subject: string) {
  const [due_at, kind, caller = "", key = "", opened_at = "", run_id = "", event_id = "", token = ""] = subject
    .split(".")
    .slice(-8)
  return { due_at: Number(due_at), kind: kind as WaitKind, caller, key, opened_at, run_id, event_id, token }
}

const hourMs = 3_600_000

/** The number of an hour since 1970. */
export function hourOf(at: number): number {
  return Math.floor(at / hourMs)
}

/** Any text as one token of a subject. */
function word(text: string): string {
  return `_${Buffer.from(text).toString("base64url")}`
}

function anyOr(text: string | null): string {
  return text === null ? "*" : word(text)
}

/** Whether a run can have this id at all: what comes in a request may hold dots and wildcards. */
export function isRunId(text: string): boolean {
  return /^[A-Za-z0-9_-]{1,128}$/.test(text)
}

/** An id as a part of a subject: ids that we make stay as they are. */
export function tokenOfId(id: string): string {
  return /^[A-Za-z0-9_-]{1,128}$/.test(id) ? id : `=${Buffer.from(id, "utf8").toString("base64url")}`
}

/** The last part of a subject. */
export function lastToken(subject: string): string {
  return subject.slice(subject.lastIndexOf(".") + 1)
}

export function tokenOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("base64url")
}
