import type { LogEvent } from "../../log/events.ts"
import type { DataKey } from "../../ports/vault.ts"
import { openEvents, openWithKept } from "../../store/sealed-events.ts"
import type { Broker } from "./broker.ts"
import { bytesOf, open, type Row, type Rows } from "./rows.ts"
import type { RunFacts, RunRows } from "./run-rows.ts"

export interface PageLimits {
  readonly events: number
  readonly bytes: number
}

/** How many messages are read at a time. */
const messagesTogether = 32
const leastBytes = 64 * 1024
/** Opened messages that are kept for other readers, in bytes as stored. */
const keptBytes = 4 * 1024 * 1024

/** Where a part of a log is. */
export interface LogRange {
  readonly after: number
  readonly last: number
  readonly marks: RunFacts["marks"]
}

/** Reads logs: the messages of a run's row that have events. A message that was found stays as it is. */
export class LogReader {
  readonly #broker: Broker
  readonly #rows: Rows
  readonly #runs: RunRows
  readonly #opened = new Map<number, { readonly events: readonly LogEvent[]; readonly bytes: number }>()
  #bytes = 0

  constructor(broker: Broker, rows: Rows, runs: RunRows) {
    this.#broker = broker
    this.#rows = rows
    this.#runs = runs
  }

  /** Events with an id over `after`. Empty: there are no more now. */
  async page(run_id: string, after: number, limits: PageLimits, kept: boolean): Promise<LogEvent[]> {
    const run = await this.#runs.get(run_id)
    if (run === null || after >= run.facts.last) return []
    const { failedAsCorrupt, last, marks } = run.facts
    if (failedAsCorrupt !== undefined) return [failedAsCorrupt]
    return this.events(run_id, await this.#runs.key(run), { after, last, marks }, limits, kept)
  }

  /** Events that are known to be stored. Fewer where the run is deleted meanwhile. */
  async events(run_id: string, key: DataKey, range: LogRange, limits: PageLimits, kept: boolean): Promise<LogEvent[]> {
    const found: LogEvent[] = []
    let bytes = 0
    let seen = range.after
    for (let seq = startOf(range); seen < range.last;) {
      const messages = await this.#messages(run_id, seq, limits)
      if (messages.length === 0) return found
      for (const message of messages) {
        seq = message.seq + 1
        const { first, last } = message.facts
        if (first === undefined || last <= range.after) continue
        for (const event of await this.#open(message, key, kept)) {
          if (event.id > range.after && found.length < limits.events) found.push(event)
        }
        seen = last
        bytes += bytesOf(message)
        if (found.length >= limits.events || (bytes >= limits.bytes && found.length > 0)) return found
      }
    }
    return found
  }

  /** The next messages. What the nearest node does not have yet, the leader has. */
  async #messages(run_id: string, seq: number, { events, bytes }: PageLimits) {
    const limits = { count: Math.min(messagesTogether, events + 1), bytes: Math.max(bytes, leastBytes) }
    const subject = this.#broker.names.run(run_id)
    const near = await this.#broker.page(subject, seq, limits)
    if (near.length > 0) return near.map((stored) => open<RunFacts>(stored))
    const next = await this.#broker.next(subject, seq)
    return next === null ? [] : [open<RunFacts>(next)]
  }

  /** Its events; empty where they were deleted meanwhile. Others may be given the same objects. */
  async #open(row: Row<RunFacts>, key: DataKey, kept: boolean): Promise<readonly LogEvent[]> {
    const known = kept ? undefined : this.#opened.get(row.seq)
    if (known !== undefined) return known.events
    const whole = await this.#rows.whole(row, kept ? 4 : 3)
    const [, , body, apart] = whole?.parts ?? []
    if (body === undefined) return []
    const { last } = row.facts
    if (kept) return openWithKept(key, last, body, apart)
    // Another reader may have opened it while this one waited for its pieces: they share one copy.
    const opened = this.#opened.get(row.seq)
    if (opened !== undefined) return opened.events
    const events = openEvents(key, last, body)
    this.#keep(row.seq, events, body.length)
    return events
  }

  #keep(seq: number, events: readonly LogEvent[], bytes: number): void {
    if (this.#opened.has(seq)) return
    this.#opened.set(seq, { events, bytes })
    this.#bytes += bytes
    for (const [oldest, row] of this.#opened) {
      if (this.#bytes <= keptBytes || oldest === seq) break
      this.#opened.delete(oldest)
      this.#bytes -= row.bytes
    }
  }
}

/** The sequence from which on the events are found soon. */
function startOf({ after, marks = [] }: LogRange): number {
  let seq = 0
  for (const [last, at] of marks) if (last <= after) seq = at
  return seq + 1
}
