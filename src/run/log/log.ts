import { isoTime } from "../../base/iso-time.ts"
import type { JsonValue } from "../../base/json-value.ts"
import type { EventData, EventType, LogEvent } from "../../log/events.ts"
import { isTerminal } from "../../log/events.ts"
import { failure } from "../../ports/run-failure.ts"
import { roleOf } from "../../log/event-schemas.ts"
import { eventBytes } from "../../log/event-bytes.ts"
import { isProgress } from "../../log/fold.ts"
import type { LedgerRow } from "../../log/ledger-fold.ts"
import { loopTurns } from "../../event-loop/loop-turns.ts"
import type { RunLedger } from "./run-ledger.ts"
import { SharedParts } from "./shared-parts.ts"
import type { StoredRun } from "../shares/stored-share.ts"
import { bytesOver } from "../values/value-size.ts"
import type { ReplayData } from "../../log/replay-data.ts"
import type { Clock } from "../../ports/clock.ts"
import { isStoreTrouble, StoreBroken, type Lease, type RunStore, type StoreFailure } from "../../ports/store.ts"
import { runShownBytes } from "../../base/limits.ts"

/** Events of more bytes go to the store in several pieces. */
const pieceBytes = 512 * 1024

/** With so many events not stored yet, code that makes more of them waits. */
const roomy = 512

/** A value as events show it. */
export function shown(value: JsonValue): JsonValue {
  const bytes = bytesOver(value, runShownBytes)
  return bytes === null ? value : { truncated: true, bytes }
}

/** Pauses between attempts to store the same events. */
const firstPauseMs = 250
const longestPauseMs = 5_000

export interface LogBounds {
  /** Bytes that the log has already, and may have at most. */
  readonly before: number
  readonly most: number
  /** How long a store that fails is asked again: what was paid for is not thrown away at once. */
  readonly patienceMs?: number
  /** Counts what the run adds to what its caller stores. */
  readonly stored?: StoredRun | undefined
  /** Called again and again while events wait for a store that has failed for `stalledMs`. */
  readonly stalled?: ((error: StoreFailure) => void) | undefined
  /** Counts what the run uses. */
  readonly ledger?: RunLedger
  /** Called when events are stored that say that the run got further. */
  readonly progressed?: () => void
}

/** So long a caller who waits for a run waits for a store that fails. */
const stalledMs = 10_000

const unbounded: LogBounds = { before: 0, most: Number.POSITIVE_INFINITY }

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

/**
 * The one writer of a run's log. It numbers events and stamps them with the time; what one turn of the event loop adds goes
 * to the store in one piece, and while that is under way the next piece gathers.
 */
export class RunLog {
  readonly #store: RunStore
  readonly #lease: Lease
  readonly #clock: Clock
  readonly #onFailure: (error: unknown) => void
  readonly #patienceMs: number
  readonly #stalled: LogBounds["stalled"]
  readonly #progressed: LogBounds["progressed"]
  readonly #ledger: RunLedger | undefined
  /** Made when a store fails: most runs never need it. */
  #giveUp: AbortController | null = null
  #gaveUp = false
  #lastId: number
  #storedId: number
  /** The last event that records work. */
  #workId = 0
  /** The size of the log, and of the largest that is allowed. */
  #bytes: number
  readonly #maxBytes: number
  readonly #stored: StoredRun | undefined
  /** Made for the first question. */
  #shared: SharedParts | null = null
  #pending: LogEvent[] = []
  /** About how many bytes they are. */
  #pendingBytes = 0
  readonly #deltas = new Map<string, { event: Mutable<LogEvent>; attempt: number }>()
  #writing = false
  #failed: { readonly error: unknown } | null = null
  #waiting: { readonly id: number; readonly resolve: () => void; readonly reject: (error: unknown) => void }[] = []

  constructor(
    store: RunStore,
    lease: Lease,
    clock: Clock,
    lastId: number,
    onFailure: (error: unknown) => void,
    bounds: LogBounds = unbounded,
  ) {
    this.#store = store
    this.#lease = lease
    this.#clock = clock
    this.#lastId = lastId
    this.#storedId = lastId
    this.#onFailure = onFailure
    this.#bytes = bounds.before
    this.#maxBytes = bounds.most
    this.#stored = bounds.stored
    this.#patienceMs = bounds.patienceMs ?? 0
    this.#stalled = bounds.stalled
    this.#progressed = bounds.progressed
    this.#ledger = bounds.ledger
  }

  /** The same log for a workflow that the run calls. */
  within(scope: string): EventLog {
    return new ScopedLog(this, scope)
  }

  /** `cost`: of the work that the event records, where `data` shows it rounded. */
  add<T extends EventType>(type: T, data: EventData[T], kept?: ReplayData<T>, cost?: number): LogEvent {
    const at = isoTime(this.#clock.now())
    const stamped = type === "workflow_started" ? data : { ...data, at }
    const id = ++this.#lastId
    const made: Record<string, unknown> = { id, type, at, data: stamped }
    if (cost !== undefined) made["cost"] = cost
    if (kept !== undefined) made["kept"] = kept
    const event = made as unknown as LogEvent
    if (roleOf(type) === "work") this.#workId = event.id
    const bytes = eventBytes(event)
    this.#push(event, bytes)
    if (!isTerminal(type)) this.#grow(bytes, type === "question_asked" ? this.#questionBytes(event) : bytes)
    return event
  }

  /** Rejects where so much more does not fit: what is added in one turn of the event loop is stored whole. */
  async checkRoom(bytes: number, storedBytes: number): Promise<void> {
    if (this.#bytes + bytes > this.#maxBytes) throw this.#tooLong()
    if (this.#stored !== undefined && !(await this.#stored.hasRoom(storedBytes))) throw this.#tooMuchStored()
  }

  /** The bytes that a question adds to the store: parts that earlier ones have shown are not stored again. */
  #questionBytes(event: LogEvent): number {
    this.#shared ??= new SharedParts()
    return this.#shared.bytesOf(event.id, event.data)
  }

  /** Pieces of one answer that come faster than the store takes them are joined. */
  addDelta(data: EventData["agent_delta"] & { readonly scope?: string }): void {
    const agent = data.scope === undefined ? data.agent : `${data.scope}/${data.agent}`
    const key = data.iteration === undefined ? agent : `${agent}#${data.iteration}`
    const before = this.#deltas.get(key)
    if (before !== undefined && before.attempt === data.attempt && before.event.type === "agent_delta") {
      const joined = before.event.data.text + data.text
      before.event.data = { ...before.event.data, text: joined }
      this.#pendingBytes += data.text.length
      this.#grow(data.text.length)
      return
    }
    this.#deltas.set(key, { event: this.add("agent_delta", data), attempt: data.attempt })
  }

  /** Resolves when everything added so far is durable. */
  stored(): Promise<void> {
    return this.#storedTo(this.#lastId)
  }

  /** Resolves when all work that was recorded so far is durable; null when it is already. */
  workStored(): Promise<void> | null {
    return this.#storedId >= this.#workId ? null : this.#storedTo(this.#workId)
  }

  /** Something that was added is not durable yet. */
  get isBehind(): boolean {
    return this.#storedId < this.#lastId
  }

  /** A promise to wait for before more is added, or null when there is room. */
  room(): Promise<void> | null {
    return this.#lastId - this.#storedId > roomy ? this.stored() : null
  }

  /** The event that is too much is still stored; the run ends with the next one. */
  #grow(bytes: number, storedBytes = bytes): void {
    this.#stored?.add(storedBytes, () => this.#onFailure(this.#tooMuchStored()))
    this.#bytes += bytes
    if (this.#bytes > this.#maxBytes) this.#onFailure(this.#tooLong())
  }

  #tooLong(): Error {
    const sentence = `The log of the run is larger than ${this.#maxBytes} bytes (WIRE_MAX_RUN_LOG)`
    return failure("limit_exceeded", "", sentence)
  }

  #tooMuchStored(): Error {
    const sentence = `The runs of this caller take more than the ${this.#stored?.most ?? 0} bytes of the store that it may use`
    return failure("limit_exceeded", "", `${sentence} (WIRE_MAX_STORED_PER_CALLER)`)
  }

  #storedTo(id: number): Promise<void> {
    if (this.#failed !== null) return Promise.reject(asError(this.#failed.error))
    if (this.#storedId >= id) return Promise.resolve()
    return new Promise((resolve, reject) => this.#waiting.push({ id, resolve, reject }))
  }

  #push(event: LogEvent, bytes: number): void {
    // Once the log cannot be written, what the rest of the run still says is lost with it.
    if (this.#failed !== null) return
    this.#pending.push(event)
    this.#pendingBytes += bytes
    if (this.#writing) return
    this.#writing = true
    // After the promises of this turn: what follows from one answer (an agent's end, the next one's start, the run's end)
    // is stored together.
    setImmediate(() => void this.#write())
  }

  async #write(): Promise<void> {
    try {
      while (this.#pending.length > 0) {
        const { batch, bytes } = this.#take()
        const turn = loopTurns.forLarge(bytes)
        if (turn !== null) await turn
        const began = this.#clock.monotonic()
        const entries = this.#ledger?.take(batch)
        try {
          await this.#append(batch, entries)
        } catch (error) {
          await this.#appendAgain(batch, entries, error, began)
        }
        this.#storedId += batch.length
        this.#ledger?.stored()
        if (this.#progressed !== undefined && batch.some(isProgress)) this.#progressed()
        this.#wake()
      }
      this.#writing = false
    } catch (error) {
      this.#failed = { error }
      this.#pending = []
      this.#pendingBytes = 0
      this.#onFailure(error)
      for (const { reject } of this.#waiting.splice(0)) reject(error)
    }
  }

  #append(batch: readonly LogEvent[], entries: readonly LedgerRow[] = []): Promise<void> {
    return entries.length === 0
      ? this.#store.append(this.#lease, batch)
      : this.#store.append(this.#lease, batch, entries)
  }

  /** The next events to store: all that wait, or as many as one turn of the event loop can handle. */
  #take(): { readonly batch: readonly LogEvent[]; readonly bytes: number } {
    if (this.#deltas.size > 0) this.#deltas.clear()
    const pending = this.#pending
    let bytes = this.#pendingBytes
    let count = pending.length
    if (bytes > pieceBytes && count > 1) {
      bytes = 0
      count = 0
      for (const event of pending) {
        const size = eventBytes(event)
        if (count > 0 && bytes + size > pieceBytes) break
        bytes += size
        count++
      }
    }
    this.#pending = pending.slice(count)
    this.#pendingBytes = this.#pending.length === 0 ? 0 : this.#pendingBytes - bytes
    return { batch: count === pending.length ? pending : pending.slice(0, count), bytes }
  }

  /** Stops asking a store that fails. */
  giveUp(): void {
    this.#gaveUp = true
    this.#giveUp?.abort()
  }

  /** Stores what a store has failed to store, `began` being the time of the first attempt. */
  async #appendAgain(
    batch: readonly LogEvent[],
    entries: readonly LedgerRow[] | undefined,
    failed: unknown,
    began: number,
  ): Promise<void> {
    const deadline = began + this.#patienceMs
    let error = failed
    for (let pause = firstPauseMs; ; pause = Math.min(pause * 2, longestPauseMs)) {
      if (!isStoreTrouble(error) || error instanceof StoreBroken) throw error
      if (this.#gaveUp || this.#clock.monotonic() + pause > deadline) throw error
      if (this.#clock.monotonic() + pause > began + stalledMs) this.#stalled?.(error)
      this.#giveUp ??= new AbortController()
      await this.#clock.sleep(pause, this.#giveUp.signal).catch(() => undefined)
      if (await this.#isStored(batch)) return
      try {
        await this.#append(batch, entries)
        return
      } catch (again) {
        error = again
      }
    }
  }

  /** Whether an attempt that failed has stored the events after all: its answer may have been lost on the way. */
  async #isStored(batch: readonly LogEvent[]): Promise<boolean> {
    const last = batch.at(-1)
    if (last === undefined) return true
    try {
      const [found] = await this.#store.read(this.#lease.run_id, last.id - 1, 1)
      return found?.id === last.id && found.at === last.at && JSON.stringify(found.data) === JSON.stringify(last.data)
    } catch (error) {
      if (!isStoreTrouble(error)) throw error
      return false
    }
  }

  #wake(): void {
    if (this.#waiting.length === 0) return
    const waiting = this.#waiting
    this.#waiting = waiting.filter(({ id }) => id > this.#storedId)
    for (const { id, resolve } of waiting) if (id <= this.#storedId) resolve()
  }
}

/** The log as the steps of a workflow write to it. */
export type EventLog = Pick<
  RunLog,
  "add" | "addDelta" | "checkRoom" | "stored" | "workStored" | "isBehind" | "room" | "within"
>

/** The log of a run for one workflow that it calls: all that is added has the scope of the call. */
class ScopedLog implements EventLog {
  readonly #log: RunLog
  readonly #scope: string

  constructor(log: RunLog, scope: string) {
    this.#log = log
    this.#scope = scope
  }

  add<T extends EventType>(type: T, data: EventData[T], kept?: ReplayData<T>, cost?: number): LogEvent {
    return this.#log.add(type, { ...data, scope: this.#scope }, kept, cost)
  }

  addDelta(data: EventData["agent_delta"]): void {
    this.#log.addDelta({ ...data, scope: this.#scope })
  }

  checkRoom(bytes: number, storedBytes: number): Promise<void> {
    return this.#log.checkRoom(bytes, storedBytes)
  }

  stored(): Promise<void> {
    return this.#log.stored()
  }

  workStored(): Promise<void> | null {
    return this.#log.workStored()
  }

  get isBehind(): boolean {
    return this.#log.isBehind
  }

  room(): Promise<void> | null {
    return this.#log.room()
  }

  within(scope: string): EventLog {
    return this.#log.within(scope)
  }
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error))
}
