import { instant, type Clock, type Instant } from "../../ports/clock.ts"
import { Damaged, StoreFailure, TooNew, type ClaimedLease } from "../../ports/store.ts"
import type { Broker } from "./broker.ts"
import type { Leases } from "./leases.ts"
import type { LogReader, RunHead } from "./log-reader.ts"
import { fillSlot, type Position } from "./log-writer.ts"
import type { OpenRun, OpenRuns } from "./open-runs.ts"
import type { Parking } from "./parking.ts"
import { SignsOfLife } from "./signs-of-life.ts"
import { carriedOn, endOf, isParked, type Carried } from "./slot.ts"

/** How long a creator may take between its first message and its last. */
const creationMs = 60_000
/** How many runs are looked at side by side. */
const claimedTogether = 8

/** A run that was taken over. */
export interface Claimed {
  readonly run_id: string
  readonly fence: number
  /** The fence of the owner before. */
  readonly before: number
  readonly askedAt: Instant
  /** Null for a run whose key is damaged: it can be condemned, not written to. */
  readonly position: Position | null
  /** Its owner gave it back; otherwise the owner fell silent. */
  readonly given_back: boolean
  /** It was parked, and has been woken. */
  readonly woken: boolean
  /** It was found by a mark, so it may not be in the list of open runs. */
  readonly marked: boolean
  readonly head: RunHead
}

interface Candidate {
  readonly run: OpenRun
  /** A mark says that the run was woken. */
  readonly marked: boolean
}

/** Looks for runs that no process works on, and takes them over. */
export class RunClaims {
  readonly #broker: Broker
  readonly #reader: LogReader
  readonly #open: OpenRuns
  readonly #leases: Leases
  readonly #clock: Clock
  readonly #signs: SignsOfLife
  readonly #parking: Parking

  constructor(broker: Broker, reader: LogReader, open: OpenRuns, parking: Parking, leases: Leases, clock: Clock) {
    this.#parking = parking
    this.#broker = broker
    this.#reader = reader
    this.#open = open
    this.#leases = leases
    this.#clock = clock
    this.#signs = new SignsOfLife(broker, clock)
  }

  close(): void {
    this.#signs.close()
  }

  /**
   * Takes over at most so many runs, woken ones first, then the oldest. `take` is called for each before the other processes
   * see the claim.
   */
  async claim(
    owner: string,
    limit: number,
    leaseMs: number,
    take: (claimed: Claimed) => void,
  ): Promise<ClaimedLease[]> {
    if (limit <= 0) return []
    const candidates = await this.#candidates(leaseMs)
    const leases: ClaimedLease[] = []
    for (let at = 0; at < candidates.length && leases.length < limit;) {
      const some = candidates.slice(at, at + Math.min(claimedTogether, limit - leases.length))
      at += some.length
      for (const claimed of await Promise.all(some.map((one) => this.#claimOne(one, leaseMs)))) {
        if (claimed === null) continue
        take(claimed)
        const { run_id, fence, given_back, woken, marked } = claimed
        leases.push({ run_id, owner, fence, given_back, woken })
        if (woken || marked) await this.#unpark(run_id, claimed.head)
      }
    }
    if (leases.length > 0) await this.#leases.say()
    return leases
  }

  async #candidates(leaseMs: number): Promise<Candidate[]> {
    const woken = await this.#parking.woken()
    const marked = woken.map((run_id) => ({ run: { run_id, created_at: 0 }, marked: true }))
    // After trouble with the broker no process has been able to show that it is alive: give them time. No process holds a woken run.
    if (this.#broker.calmMs < leaseMs) return marked
    const open = await this.#open.list()
    const seen = new Set(woken)
    this.#signs.keepOnly(new Set([...open.map(({ run_id }) => run_id), ...woken]))
    const others = open.filter(({ run_id }) => !seen.has(run_id) && !this.#signs.isHeld(run_id, leaseMs))
    return [...marked, ...others.map((run) => ({ run, marked: false }))]
  }

  /** The run is ours already. Where this fails, its marks stay, and the run is found by them. */
  async #unpark(run_id: string, head: RunHead): Promise<void> {
    try {
      await this.#parking.unpark(run_id, head)
    } catch (error) {
      if (!(error instanceof StoreFailure)) throw error
    }
  }

  /** A run that cannot be read, or not by this release, does not block other runs. */
  async #claimOne(candidate: Candidate, leaseMs: number): Promise<Claimed | null> {
    try {
      return await this.#tryToClaim(candidate, leaseMs)
    } catch (error) {
      if (error instanceof Damaged || error instanceof TooNew) return null
      throw error
    }
  }

  async #tryToClaim({ run, marked }: Candidate, leaseMs: number): Promise<Claimed | null> {
    const { run_id } = run
    for (;;) {
      const tail = await this.#reader.tail(run_id)
      if (tail === null) {
        if (marked) await this.#parking.forgetMarks(run_id)
        else await this.#removeEntryUnmade(run)
        return null
      }
      const head = await this.#reader.head(run_id)
      if (head === null) return null
      const { facts, slot, damaged = 0 } = tail
      const silent = this.#signs.silentMs(run_id, facts.fence, slot) >= leaseMs
      if (endOf(facts) !== null) {
        // The process that ended it is about to clean up, or died before it could.
        if (silent) await this.#open.close(run_id, tail, head)
        if (silent && marked) await this.#parking.forgetMarks(run_id)
        return null
      }
      const parked = isParked(facts)
      if (parked) {
        if (!(await this.#parking.hasNews(run_id, facts))) {
          // The process that parks or wakes it is about to finish that, or died before it could.
          if (marked) await this.#parking.sleepOn(run_id, tail, leaseMs)
          else if (silent) await this.#parking.park(run_id, head, tail)
          return null
        }
        // The process that parked it may have died before it stored the notice. Once the run is claimed, nobody looks for that any more.
        await this.#parking.notify(run_id, head, tail)
      } else if (facts.kind !== "release" && (!silent || (await this.#signs.hasRenewed(run_id, tail)))) return null
      const askedAt = instant(this.#clock)
      const { last } = facts
      const claim = {
        kind: "claim",
        // Above that of any claim among the damaged slots.
        fence: facts.fence + 1 + damaged,
        session: this.#leases.session,
        last,
        ...carriedOn(facts),
      } as const
      const filled = await fillSlot(this.#broker, this.#reader, run_id, slot + 1, claim, [])
      if (filled !== null) {
        const position = positionAt(slot + 1, last, carriedOn(facts), head)
        const given_back = parked || facts.kind === "release"
        const { fence } = claim
        return { run_id, fence, before: facts.fence, askedAt, position, given_back, woken: parked, marked, head }
      }
      // Another claim, or an owner who is not dead after all: look again which.
    }
  }

  /** A run that was announced and never made: its creator died, or is about to make it. */
  async #removeEntryUnmade(run: OpenRun): Promise<void> {
    if (this.#signs.silentMs(run.run_id, 0, 0) < creationMs) return
    if (await this.#open.makeVoid(run.run_id)) await this.#open.removeEntry(run)
  }
}

function positionAt(slot: number, last: number, carried: Carried, { key }: RunHead): Position | null {
  try {
    return { slot, last, key: key(), carried }
  } catch (error) {
    if (error instanceof Damaged) return null
    throw error
  }
}
