// Streams and subjects. `wire` below is the prefix, so that several services can share a broker.
//
//   wire.log.RUN.SLOT               one append, claim or release; slot 0 is the run's head with its request
//   wire.log.RUN.SLOT.NONCE.N       a piece of what is too large for its slot's message
//   wire.open.CREATED_AT.RUN        a run that has not ended, with its secrets
//   wire.done.RUN                   an ended run, in the order of their ends
//   wire.runs.CALLER.WORKFLOW.CREATED_AT.RUN   an entry of the list of runs; caller and workflow in Base64
//   wire.gone.RUN                   a tombstone
//   wire.keys.once.DIGEST           an idempotency key
//   wire.keys.until.DAY.DIGEST      an idempotency key that outlives its run, by the day on which it is forgotten
//   wire.keys.trigger.NAME          the mark of a schedule, and what happened last
//   wire.keys.pause.NAME            whether a schedule or webhook is paused
//   wire.keys.cancel.RUN            a cancel request
//   wire.keys.erase.RUN             a run that was asked to be deleted, until all of it is
//   wire.keys.mark                  the marks of the master key, and of the one before while it is changed
//   wire.cache.SLOT.ENTRY           a cached answer
//   wire.outbox.due.RUN.EVENT       a notice that is to be delivered
//   wire.outbox.told.RUN.EVENT      a notice that was delivered or given up
//   wire.ask.q.RUN.QUESTION         where a question is in its run's log
//   wire.ask.in.PLACE.CALLER.TO.ASKED_AT.RUN.EVENT.QUESTION   who may answer it; the place is `open` or `done`
//   wire.ask.due.HOUR.EXPIRES_AT.RUN.QUESTION                 when it expires
//   wire.ask.news.RUN.QUESTION      the outcome of a question
//   wire.ask.woken.RUN.QUESTION     this outcome is about to be stored, or is stored and not in the log yet; `=cancel=` for a cancel
//   wire.ask.parked.CALLER.RUN      a run that waits, with its secrets
//   wire.alive.SESSION              the leases that one process holds
//   wire.live.RUN.SLOT              core subject: what has just been stored as wire.log.RUN.SLOT
//   wire.said.cancel.RUN            core subject: the same for cancel requests
//   wire.told.news.RUN.QUESTION     core subject: the same for outcomes

export type StreamName = "log" | "open" | "done" | "runs" | "gone" | "keys" | "cache" | "alive" | "outbox" | "ask"

export type Names = ReturnType<typeof namesOf>

export interface ListedNames {
  readonly caller: string
  readonly workflow: string | null
  readonly created_at: number
  readonly run_id: string
}

/** Any text as one token of a subject. */
function word(text: string): string {
  return `_${Buffer.from(text).toString("base64url")}`
}

function anyOr(text: string | null): string {
  return text === null ? "*" : word(text)
}

export function namesOf(prefix: string) {
  return {
    prefix,
    stream: (name: StreamName) => `${prefix.toUpperCase()}_${name.toUpperCase()}`,
    slot: (run_id: string, slot: number) => `${prefix}.log.${run_id}.${slot}`,
    piece: (run_id: string, slot: number, nonce: string, piece: number) =>
      `${prefix}.log.${run_id}.${slot}.${nonce}.${piece}`,
    open: (created_at: number, run_id: string) => `${prefix}.open.${String(created_at).padStart(15, "0")}.${run_id}`,
    done: (run_id: string) => `${prefix}.done.${run_id}`,
    /** An entry of the list of runs. */
    listed: ({ caller, workflow, created_at, run_id }: ListedNames) =>
      `${prefix}.runs.${word(caller)}.${word(workflow ?? "")}.${String(created_at).padStart(15, "0")}.${run_id}`,
    /** All entries of a caller, or of one workflow of its runs; null for those of all callers. */
    listedOf: (caller: string | null, workflow: string | null) =>
      `${prefix}.runs.${anyOr(caller)}.${anyOr(workflow)}.>`,
    gone: (run_id: string) => `${prefix}.gone.${run_id}`,
    once: (digest: string) => `${prefix}.keys.once.${digest}`,
    keyUntil: (day: number, digest: string) => `${prefix}.keys.until.${day}.${digest}`,
    /** Those of one day; null for all. */
    keysUntil: (day: number | null) => `${prefix}.keys.until.${day ?? "*"}.*`,
    trigger: (id: string) => `${prefix}.keys.trigger.${word(id)}`,
    pause: (id: string) => `${prefix}.keys.pause.${word(id)}`,
    cancel: (run_id: string) => `${prefix}.keys.cancel.${run_id}`,
    erase: (run_id: string) => `${prefix}.keys.erase.${run_id}`,
    anyErase: `${prefix}.keys.erase.*`,
    mark: `${prefix}.keys.mark`,
    cache: (slot: string, entry: string) => `${prefix}.cache.${slot}.${entry}`,
    alive: (session: string) => `${prefix}.alive.${session}`,
    anyoneAlive: `${prefix}.alive.*`,
    live: (run_id: string) => `${prefix}.live.${run_id}.*`,
    said: `${prefix}.said.cancel.*`,
    due: (run_id: string, event_id: number) => `${prefix}.outbox.due.${run_id}.${event_id}`,
    settledNotice: (run_id: string, event_id: number) => `${prefix}.outbox.told.${run_id}.${event_id}`,
    anyDue: `${prefix}.outbox.due.>`,
    settledNoticesOf: (run_id: string) => `${prefix}.outbox.told.${run_id}.*`,
    /** Pending ones and others. */
    noticesOf: (run_id: string) => `${prefix}.outbox.*.${run_id}.*`,
    question: (run_id: string, id: string) => `${prefix}.ask.q.${run_id}.${tokenOfId(id)}`,
    questionByToken: (run_id: string, token: string) => `${prefix}.ask.q.${run_id}.${token}`,
    questionsOf: (run_id: string) => `${prefix}.ask.q.${run_id}.*`,
    inboxEntry: (place: string, tokens: readonly string[]) => `${prefix}.ask.in.${place}.${tokens.join(".")}`,
    inbox: (place: string, caller: string, to: string) => `${prefix}.ask.in.${place}.${caller}.${to}.>`,
    dueEntry: (tokens: readonly string[]) => `${prefix}.ask.due.${tokens.join(".")}`,
    dueIn: (hour: string) => `${prefix}.ask.due.${hour}.>`,
    news: (run_id: string, id: string) => `${prefix}.ask.news.${run_id}.${tokenOfId(id)}`,
    newsOf: (run_id: string) => `${prefix}.ask.news.${run_id}.*`,
    woken: (run_id: string, token: string) => `${prefix}.ask.woken.${run_id}.${token}`,
    wokenOf: (run_id: string) => `${prefix}.ask.woken.${run_id}.*`,
    anyWoken: `${prefix}.ask.woken.*.*`,
    parked: (caller: string, run_id: string) => `${prefix}.ask.parked.${caller}.${run_id}`,
    saidNews: `${prefix}.told.news.*.*`,
  }
}

/** Whether a run can have this id at all: what comes in a request may hold dots and wildcards. */
export function isRunId(text: string): boolean {
  return /^[A-Za-z0-9_-]{1,128}$/.test(text)
}

/** No id of a question becomes this one. */
export const cancelToken = "=cancel="

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

const dayMs = 24 * 3_600_000

/** The number of a day since 1970. */
export function dayOf(at: number): number {
  return Math.floor(at / dayMs)
}
