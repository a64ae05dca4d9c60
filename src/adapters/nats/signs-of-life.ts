import type { Clock } from "../../ports/clock.ts"
import type { Broker } from "./broker.ts"
import { unpackFrame } from "./frame.ts"
import type { SaidLease } from "./leases.ts"
import { lastToken } from "./names.ts"

interface Sign {
  readonly fence: number
  /** By our monotonic clock: the lease was renewed at this moment, or later. */
  readonly at: number
  /** The process that says it holds the run; null when no process has said so. */
  readonly session: string | null
}

interface Renewals {
  readonly data: Uint8Array
  readonly held: ReadonlyMap<string, number>
}

/**
 * When this process last saw a sign of life of each lease, by its own monotonic clock: the holder's renewals as they
 * arrive, or the first sight of the run under its fence. A process takes a run over only when it has seen none for the length of a lease. So
 * clocks of different machines are never compared.
 */
export class SignsOfLife {
  readonly #broker: Broker
  readonly #clock: Clock
  readonly #signs = new Map<string, Sign>()
  /** The latest message of each process. */
  readonly #latest = new Map<string, Renewals>()
  readonly #stop: () => void
  #listening: Promise<void> | null = null

  constructor(broker: Broker, clock: Clock) {
    this.#broker = broker
    this.#clock = clock
    this.#stop = broker.listen(broker.names.anyoneAlive, ({ subject, data }) => {
      this.#received(lastToken(subject), data)
    })
  }

  close(): void {
    this.#stop()
  }

  /** Reads what processes said before this one listened: a holder that died before is not waited for twice. */
  listen(): Promise<void> {
    this.#listening ??= this.#hearAll().catch((error: unknown) => {
      this.#listening = null
      throw error
    })
    return this.#listening
  }

  async #hearAll(): Promise<void> {
    for (const subject of await this.#broker.list("alive", this.#broker.names.anyoneAlive)) {
      const stored = await this.#broker.getFromLeader("alive", subject)
      const session = lastToken(subject)
      if (stored !== null && !this.#latest.has(session)) this.#received(session, stored.data)
    }
  }

  /** How long nothing was seen of a lease; 0 at the first sight of it. */
  silentMs(run_id: string, fence: number): number {
    const sign = this.#signs.get(run_id)
    const at = this.#clock.monotonic()
    if (sign !== undefined && sign.fence >= fence) return at - sign.at
    this.#signs.set(run_id, { fence, at, session: null })
    return 0
  }

  /** Asks the broker for the holder's latest renewal, which may not have arrived here. Whether there is one. */
  async hasRenewed(run_id: string, session: string, fence: number): Promise<boolean> {
    const stored = await this.#broker.getFromLeader("alive", this.#broker.names.alive(session))
    const latest = this.#latest.get(session)
    if (stored === null || (latest !== undefined && Buffer.from(stored.data).equals(latest.data))) return false
    this.#received(session, stored.data)
    return this.#latest.get(session)?.held.get(run_id) === fence
  }

  /** Forgets the runs that are not open any more. */
  keepOnly(run_ids: ReadonlySet<string>): void {
    for (const run_id of this.#signs.keys()) if (!run_ids.has(run_id)) this.#signs.delete(run_id)
    const sessions = new Set([...this.#signs.values()].map(({ session }) => session))
    for (const session of this.#latest.keys()) if (!sessions.has(session)) this.#latest.delete(session)
  }

  #received(session: string, data: Uint8Array): void {
    let said: readonly SaidLease[]
    try {
      said = unpackFrame<{ held: readonly SaidLease[] }>(session, data).facts.held
    } catch {
      // A message that cannot be read renews nothing.
      return
    }
    const now = this.#clock.monotonic()
    for (const [run_id, fence, age] of said) this.#note(run_id, fence, now - age, session)
    const held = new Map(said.map(([run_id, fence]) => [run_id, fence]))
    for (const [run_id, fence] of this.#latest.get(session)?.held ?? []) {
      const sign = this.#signs.get(run_id)
      // No longer among its leases: it may have been given back.
      if (held.get(run_id) !== fence && sign?.session === session && sign.fence === fence) {
        this.#signs.set(run_id, { ...sign, session: null })
      }
    }
    this.#latest.set(session, { data, held })
  }

  #note(run_id: string, fence: number, at: number, session: string): void {
    const before = this.#signs.get(run_id)
    if (before !== undefined && fence < before.fence) return
    const latest = before?.fence === fence ? Math.max(at, before.at) : at
    this.#signs.set(run_id, { fence, at: latest, session })
  }
}
