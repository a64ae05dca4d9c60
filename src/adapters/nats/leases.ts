import { instant, maxElapsed, type Clock, type Instant } from "../../ports/clock.ts"
import type { Broker } from "./broker.ts"
import { holdMs } from "./broker.ts"
import { packFrame } from "./frame.ts"

interface OwnLease {
  readonly fence: number
  readonly leaseMs: number
  /** When the latest renewal was asked for. */
  readonly renewedAt: Instant
  /** When the latest renewal that the broker has stored was asked for. */
  storedAt: Instant
}

const longAgo: Instant = { wall: 0, monotonic: Number.NEGATIVE_INFINITY }

/** One lease in the message of its holder: run, fence, and how many milliseconds ago it was renewed. */
export type SaidLease = readonly [run_id: string, fence: number, ageMs: number]

/**
 * The leases of this process, said again and again in one message of its own. Nobody else writes it, so nothing is compared:
 * whether a lease is still held is for the log to say.
 */
export class Leases {
  readonly session: string
  readonly #broker: Broker
  readonly #clock: Clock
  readonly #held = new Map<string, OwnLease>()
  /** Messages so far. */
  #said = 0
  #saying: Promise<void> | null = null
  #next: Promise<void> | null = null

  constructor(broker: Broker, clock: Clock, session: string) {
    this.#broker = broker
    this.#clock = clock
    this.session = session
  }

  held(): readonly { readonly run_id: string; readonly fence: number }[] {
    return [...this.#held].map(([run_id, { fence }]) => ({ run_id, fence }))
  }

  /** A lease that the log says is ours, asked for at that moment. */
  hold(run_id: string, fence: number, leaseMs: number, askedAt: Instant): void {
    this.#held.set(run_id, { fence, leaseMs, renewedAt: askedAt, storedAt: askedAt })
  }

  /**
   * Renews a lease, for others to see. False: it comes so late that another process may have begun to take the run over before the
   * renewal was stored, so that only the log can tell whose it is; `hold` says that it is ours.
   */
  async renew(run_id: string, fence: number, leaseMs: number, askedAt: Instant): Promise<boolean> {
    const before = this.#held.get(run_id)
    const storedAt = before?.fence === fence ? before.storedAt : longAgo
    this.#held.set(run_id, { fence, leaseMs, renewedAt: askedAt, storedAt })
    await this.say()
    const inTime = maxElapsed(this.#clock, storedAt) < leaseMs
    const now = this.#held.get(run_id)
    if (inTime && now?.fence === fence && now.storedAt.monotonic < askedAt.monotonic) now.storedAt = askedAt
    return inTime
  }

  drop(run_id: string, fence: number): void {
    if (this.#held.get(run_id)?.fence === fence) this.#held.delete(run_id)
  }

  /** Resolves when the others can know. All that is asked for while one message is under way goes into the next. */
  say(): Promise<void> {
    if (this.#saying === null) {
      this.#saying = this.#say().finally(() => (this.#saying = null))
      return this.#saying
    }
    this.#next ??= this.#saying
      .catch(() => undefined)
      .then(() => {
        this.#next = null
        return this.say()
      })
    return this.#next
  }

  async #say(): Promise<void> {
    // What one turn of the loop renews is said once.
    await new Promise((resolve) => setImmediate(resolve))
    const now = instant(this.#clock)
    const held: SaidLease[] = []
    for (const [run_id, { fence, leaseMs, renewedAt }] of this.#held) {
      const age = now.monotonic - renewedAt.monotonic
      // A lease that was not renewed has run out: announcing it again would keep others from the run.
      if (age < leaseMs) held.push([run_id, fence, Math.ceil(age)])
    }
    // Messages that say the same would have the same bytes, by which others tell whether they have heard a message.
    const said = packFrame({ held, number: ++this.#said }, [])
    await this.#broker.put(this.#broker.names.alive(this.session), said, holdMs.read)
  }

  async forget(): Promise<void> {
    await this.#broker.purge("alive", this.#broker.names.alive(this.session), holdMs.parting)
  }
}
