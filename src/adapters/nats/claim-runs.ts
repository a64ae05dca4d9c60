import { instant, type Clock, type Instant } from "../../ports/clock.ts"
import { Damaged, TooNew, type ClaimedLease } from "../../ports/store.ts"
import type { Broker } from "./broker.ts"
import type { Leases } from "./leases.ts"
import { openEntryOf, type OpenEntry } from "./names.ts"
import type { Rows } from "./rows.ts"
import { claimed, isOpen, openEntry, type RunRows, type StoredRun } from "./run-rows.ts"
import { SignsOfLife } from "./signs-of-life.ts"

/** How many runs are looked at side by side. */
const claimedTogether = 8

/** A run that was taken over. */
export interface Claimed {
  readonly run: StoredRun
  /** The fence of the owner before. */
  readonly before: number
  readonly askedAt: Instant
}

interface Candidate {
  readonly subject: string
  readonly entry: OpenEntry
}

/**
 * Looks for runs that no process works on, and takes them over. All of them are in one list: whatever frees a run, or gives it to a process, adds the entry of its fence
 * in the batch that does so. An entry is removed only after its run has another fence, waits or has ended.
 */
export class RunClaims {
  readonly #broker: Broker
  readonly #rows: Rows
  readonly #runs: RunRows
  readonly #leases: Leases
  readonly #clock: Clock
  readonly #signs: SignsOfLife

  constructor(broker: Broker, rows: Rows, runs: RunRows, leases: Leases, clock: Clock) {
    this.#broker = broker
    this.#rows = rows
    this.#runs = runs
    this.#leases = leases
    this.#clock = clock
    this.#signs = new SignsOfLife(broker, clock)
  }

  close(): void {
    this.#signs.close()
  }

  /** Ids of runs that were woken and that nobody has claimed. */
  async woken(): Promise<string[]> {
    return (await this.#candidates()).flatMap(({ entry: { kind, run_id } }) => (kind === "w" ? [run_id] : []))
  }

  /** Takes over at most so many runs, woken ones first, then the oldest. `take` is called for each before the other processes see the claim. */
  async claim(
    owner: string,
    limit: number,
    leaseMs: number,
    take: (claimed: Claimed) => void,
  ): Promise<ClaimedLease[]> {
    if (limit <= 0) return []
    const candidates = await this.#likely(leaseMs)
    const leases: ClaimedLease[] = []
    for (let at = 0; at < candidates.length && leases.length < limit;) {
      const some = candidates.slice(at, at + Math.min(claimedTogether, limit - leases.length))
      at += some.length
      for (const claim of await Promise.all(some.map((one) => this.#claimOne(one)))) {
        if (claim === null) continue
        take(claim)
        const { run_id, facts } = claim.run
        leases.push({ run_id, owner, fence: facts.fence, given_back: claim.isFree, woken: claim.isWoken })
      }
    }
    if (leases.length > 0) await this.#leases.say()
    return leases
  }

  async #candidates(): Promise<Candidate[]> {
    const subjects = await this.#broker.list("rows", this.#broker.names.anyOpen)
    return subjects.map((subject) => ({ subject, entry: openEntryOf(subject) }))
  }

  /** Those that nobody holds, or whose holder has been silent, in the order in which they are claimed. */
  async #likely(leaseMs: number): Promise<Candidate[]> {
    const all = await this.#candidates()
    await this.#signs.listen()
    this.#signs.keepOnly(new Set(all.map(({ entry }) => entry.run_id)))
    // After trouble with the broker no process has been able to show that it is alive: give them time.
    const isCalm = this.#broker.calmMs >= leaseMs
    const found = all.filter(({ entry: { run_id, fence, state } }) => {
      if (state === "free") return true
      const silent = this.#signs.silentMs(run_id, fence) >= leaseMs
      return silent && isCalm
    })
    const rank = ({ entry: { kind, order, run_id } }: Candidate): string => `${kind === "w" ? 0 : 1} ${order} ${run_id}`
    return found.toSorted((a, b) => (rank(a) < rank(b) ? -1 : 1))
  }

  /** A run that cannot be read, or not by this release, does not block other runs. */
  async #claimOne(candidate: Candidate): Promise<(Claimed & { isFree: boolean; isWoken: boolean }) | null> {
    try {
      return await this.#tryToClaim(candidate)
    } catch (error) {
      if (error instanceof Damaged || error instanceof TooNew) return null
      throw error
    }
  }

  async #tryToClaim({ subject, entry }: Candidate) {
    const { run_id, fence } = entry
    const run = await this.#runs.get(run_id)
    if (run === null || !isOpen(run.facts) || openEntry(run_id, run.facts).fence !== fence) {
      // The process that was to remove it died, or is about to.
      await this.#rows.remove(subject)
      return null
    }
    const { session, woken_at } = run.facts
    const isFree = session === ""
    if (!isFree && (await this.#signs.hasRenewed(run_id, session, fence))) return null
    const askedAt = instant(this.#clock)
    const facts = this.#runs.named(claimed(run, this.#leases.session))
    const seq = await this.#broker.write([this.#runs.openEntry(run_id, facts), ...this.#runs.next(run, facts)])
    const now = seq === null ? await this.#runs.get(run_id) : { ...run, facts, seq, damaged: 0 }
    // Another process was faster, or the holder is not dead after all: the next look will tell.
    if (now?.facts.nonce !== facts.nonce) return null
    await this.#rows.remove(subject)
    return { run: now, before: fence, askedAt, isFree, isWoken: woken_at !== undefined }
  }
}
