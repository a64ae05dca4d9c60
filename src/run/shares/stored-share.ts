import { Tally } from "../../base/tally.ts"
import type { Clock } from "../../ports/clock.ts"
import type { RunStore } from "../../ports/store.ts"

/** How long an answer of the store, and of its disk, is good for. */
const freshMs = 1_000
/** Runs under way may go so much over what a caller may store: those that are nearly done are not lost when new ones are refused. */
const grace = 1.1

/**
 * What each caller may keep in the store: what its ended and waiting runs take, which the store counts, and what its runs that go on in this process have
 * added since.
 */
export class StoredShare {
  readonly #store: Pick<RunStore, "stored">
  readonly #clock: Pick<Clock, "monotonic">
  readonly #measure: () => number
  #most = Number.POSITIVE_INFINITY
  #measuredAt = Number.NEGATIVE_INFINITY
  /** By caller: what the store has said, and when. */
  readonly #known = new Map<string, { readonly bytes: number; readonly at: number }>()
  readonly #asking = new Map<string, Promise<void>>()
  readonly #open = new Tally()

  constructor(store: Pick<RunStore, "stored">, clock: Pick<Clock, "monotonic">, most?: () => number) {
    this.#store = store
    this.#clock = clock
    this.#measure = most ?? (() => Number.POSITIVE_INFINITY)
  }

  /** Bytes of one caller. */
  get most(): number {
    const now = this.#clock.monotonic()
    if (now - this.#measuredAt >= freshMs) {
      this.#most = this.#measure()
      this.#measuredAt = now
    }
    return this.#most
  }

  /** Whether the caller has no room for a run that begins with this many bytes. Null: there is room, without asking the store. */
  isFull(caller: string, bytes: number): Promise<boolean> | null {
    if (this.most === Number.POSITIVE_INFINITY) return null
    const known = this.#known.get(caller)
    const isFresh = known !== undefined && this.#clock.monotonic() - known.at < freshMs
    if (isFresh && this.#takenBy(caller) + bytes <= this.most) return null
    return this.#ask(caller).then(() => this.#takenBy(caller) + bytes > this.most)
  }

  /** Begins to count for a run of this caller. */
  open(caller: string): StoredRun {
    return new StoredRun({
      most: () => this.most,
      add: (bytes) => this.#open.add(caller, bytes),
      hasRoom: (bytes) => this.#takenBy(caller) + bytes <= this.most * grace,
      ask: () => this.#ask(caller),
      close: (bytes) => this.#closed(caller, bytes),
    })
  }

  /** From now on the store counts it. */
  #closed(caller: string, bytes: number): void {
    this.#open.add(caller, -bytes)
    const known = this.#known.get(caller)
    if (known !== undefined) this.#known.set(caller, { ...known, bytes: known.bytes + bytes })
  }

  #takenBy(caller: string): number {
    return (this.#known.get(caller)?.bytes ?? 0) + this.#open.of(caller)
  }

  #ask(caller: string): Promise<void> {
    let asking = this.#asking.get(caller)
    if (asking === undefined) {
      asking = this.#store
        .stored(caller)
        .then((bytes) => void this.#known.set(caller, { bytes, at: this.#clock.monotonic() }))
        .finally(() => this.#asking.delete(caller))
      this.#asking.set(caller, asking)
    }
    return asking
  }
}

interface OwnShare {
  most(): number
  add(bytes: number): void
  /** By what the store has said last. */
  hasRoom(bytes: number): boolean
  /** Asks the store what it has. */
  ask(): Promise<void>
  close(bytes: number): void
}

/** What one run has added to the store in this process. */
export class StoredRun {
  readonly #share: OwnShare
  #bytes = 0
  #isChecking = false

  constructor(share: OwnShare) {
    this.#share = share
  }

  /** Bytes that all runs of the caller may take. */
  get most(): number {
    return this.#share.most()
  }

  /** Counts more, and calls back where the caller has too much. */
  add(bytes: number, onFull: () => void): void {
    if (this.most === Number.POSITIVE_INFINITY) return
    this.#bytes += bytes
    this.#share.add(bytes)
    if (this.#share.hasRoom(0) || this.#isChecking) return
    this.#isChecking = true
    this.hasRoom(0)
      .then((hasRoom) => {
        if (!hasRoom) onFull()
      })
      // A store that fails is reported by those who write to it.
      .catch(() => undefined)
      .finally(() => (this.#isChecking = false))
  }

  /** Whether the caller may store so much more. The store is asked before anyone is refused: it may have deleted runs meanwhile. */
  async hasRoom(bytes: number): Promise<boolean> {
    if (this.#share.hasRoom(bytes)) return true
    await this.#share.ask()
    return this.#share.hasRoom(bytes)
  }

  /** The run has ended, waits, or goes on elsewhere. */
  close(): void {
    if (this.#bytes > 0) this.#share.close(this.#bytes)
    this.#bytes = 0
  }
}
