import { Listeners } from "../../ports/listeners.ts"
import type { Broker } from "./broker.ts"
import { lastToken } from "./names.ts"

/** An announcement may get lost on its way: how often to look whether one has. */
const lookMs = 3_000

/** Tells of outcomes and cancels as the broker announces them, and of what a look finds. */
export class OutcomeNews {
  readonly #listeners = new Listeners<[run_id: string]>()
  readonly #find: () => Promise<readonly string[]>
  readonly #stop: readonly (() => void)[]
  readonly #stopLooking: () => void

  /** `find`: runs that can be woken, and runs of this process whose questions have outcomes. */
  constructor(broker: Broker, find: () => Promise<readonly string[]>) {
    this.#find = find
    this.#stop = [
      broker.listen(broker.names.saidNews, ({ subject }) => this.say(subject.split(".").at(-2) ?? "")),
      broker.listen(broker.names.said, ({ subject }) => this.say(lastToken(subject))),
    ]
    this.#stopLooking = broker.every(lookMs, () => void this.#look())
    broker.onReconnect(() => void this.#look())
  }

  on(listener: (run_id: string) => void): () => void {
    return this.#listeners.add(listener)
  }

  close(): void {
    this.#stopLooking()
    for (const stop of this.#stop) stop()
    this.#listeners.clear()
  }

  /** To this process. */
  say(run_id: string): void {
    this.#listeners.tell(run_id)
  }

  async #look(): Promise<void> {
    if (this.#listeners.size === 0) return
    try {
      for (const run_id of await this.#find()) this.say(run_id)
    } catch {
      // The next look will find it.
    }
  }
}
