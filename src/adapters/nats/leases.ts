import type { Broker } from "./broker.ts"
import { holdMs } from "./broker.ts"
import { packFrame, unpackFrame } from "./frame.ts"

export interface HeldUntil {
  readonly fence: number
  readonly until: number
}

/**
 * The leases of this process, said again and again in one message of its own. Nobody else writes it, so nothing is compared:
 * whether a lease is still held is for the log to say.
 */
export class Leases {
  readonly session: string
  readonly #broker: Broker
  readonly #held = new Map<string, HeldUntil>()
  #saying: Promise<void> | null = null
  #next: Promise<void> | null = null

  constructor(broker: Broker, session: string) {
    this.#broker = broker
    this.session = session
  }

  until(run_id: string): number {
    return this.#held.get(run_id)?.until ?? 0
  }

  has(run_id: string, fence: number): boolean {
    return this.#held.get(run_id)?.fence === fence
  }

  held(): readonly (readonly [string, HeldUntil])[] {
    return [...this.#held]
  }

  hold(run_id: string, fence: number, until: number): void {
    this.#held.set(run_id, { fence, until })
  }

  drop(run_id: string, fence: number): void {
    if (this.has(run_id, fence)) this.#held.delete(run_id)
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
    const held = [...this.#held].map(([run_id, { fence, until }]) => [run_id, fence, until] as const)
    await this.#broker.put(this.#broker.names.alive(this.session), packFrame({ held }, []), holdMs.read)
  }

  /** Who says to hold what, all processes together: of several, the highest fence and then the latest time. */
  async ofAll(): Promise<Map<string, HeldUntil>> {
    const { prefix } = this.#broker.names
    const subjects = await this.#broker.list("alive", `${prefix}.alive.*`)
    const messages = await Promise.all(subjects.map((subject) => this.#broker.get("alive", subject, "near")))
    const best = new Map<string, HeldUntil>()
    for (const message of messages) {
      if (message === null) continue
      const { held } = unpackFrame<{ held: [string, number, number][] }>(message.subject, message.data).facts
      for (const [run_id, fence, until] of held) {
        const other = best.get(run_id)
        if (other === undefined || fence > other.fence || (fence === other.fence && until > other.until)) {
          best.set(run_id, { fence, until })
        }
      }
    }
    return best
  }

  async forget(): Promise<void> {
    await this.#broker.purge("alive", this.#broker.names.alive(this.session), holdMs.parting)
  }
}
