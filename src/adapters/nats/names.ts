// Streams and subjects. `wire` below is the prefix, so that several services can share a broker.
//
// The stream of rows: a subject is a row, and its newest message is what the row says. A write of several rows is one batch.
//
//   wire.rows.run.RUN               how a run stands: owner, last event, status, usage. Its messages are the run's log: each has the events that were
//                                   appended with it, if any. After the deletion, the tombstone
//   wire.rows.request.RUN           its request
//   wire.rows.secrets.RUN           its secrets, until it ends
//   wire.rows.wait.RUN.ID           what it waits for: a question. Written once
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
//   wire.rows.asked.HOUR.EXPIRES_AT.CALLER.TO.ASKED_AT.RUN.EVENT.ID   an open question; the hour is that of its expiry
//   wire.rows.settled.CALLER.TO.ASKED_AT.RUN.EVENT.ID                 a question with an outcome
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
    asked: (entry: QuestionEntry) =>
      `${rows}.asked.${hourOf(entry.expires_at)}.${padded(entry.expires_at)}.${tailOf(entry)}`,
    /** Open questions to these, `*` for any. */
    askedTo: (caller: string, to: string) => `${rows}.asked.*.*.${caller}.${to}.>`,
    askedUntil: (hour: number) => `${rows}.asked.${hour}.>`,
    askedBy: (run_id: string) => `${rows}.asked.*.*.*.*.*.${run_id}.>`,
    anyAsked: `${rows}.asked.>`,
    settled: (entry: QuestionEntry) => `${rows}.settled.${tailOf(entry)}`,
    settledTo: (caller: string, to: string) => `${rows}.settled.${caller}.${to}.>`,
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

/** A question as indexes name it. Caller and addressee are keyed hashes; `-` where the question has no addressee. */
export interface QuestionEntry {
  readonly run_id: string
  readonly id: string
  readonly event_id: number
  readonly caller: string
  readonly to: string
  readonly asked_at: number
  readonly expires_at: number
}

function tailOf({ caller, to, asked_at, run_id, event_id, id }: QuestionEntry): string {
  return `${caller}.${to}.${padded(asked_at)}.${run_id}.${padded(event_id)}.${tokenOfId(id)}`
}

/** The last parts of a question's entry. */
export function questionAt(subject: string) {
  const [caller = "", to = "", asked_at = "", run_id = "", event_id = "", token = ""] = subject.split(".").slice(-6)
  return { caller, to, asked_at, run_id, event_id, token }
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
