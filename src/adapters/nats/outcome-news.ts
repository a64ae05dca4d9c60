import type { Broker } from "./broker.ts"

/** An announcement may get lost on its way: how often to look whether one has. */
const lookMs = 3_000

/** Tells of outcomes and of woken runs as the broker announces them, and of what a look finds. */
export class OutcomeNews {
  readonly #listeners = new Set<(run_id: string) => void>()
  readonly #find: () => Promise<readonly string[]>
  readonly #stop: () => void
  readonly #looking: NodeJS.Timeout

  /** `find`: runs that were woken and not claimed, and runs of this process whose questions have outcomes. */
  constructor(broker: Broker, find: () => Promise<readonly string[]>) {
    this.#find = find
    this.#stop = broker.listen(broker.names.saidNews, ({ subject }) => this.#say(subject.split(".").at(-2) ?? ""))
    this.#looking = setInterval(() => void this.#look(), lookMs).unref()
    broker.onReconnect(() => void this.#look())
  }

  on(listener: (run_id: string) => void): () => void {
    const heard = (run_id: string): void => listener(run_id)
    this.#listeners.add(heard)
    return () => this.#listeners.delete(heard)
  }

  close(): void {
    clearInterval(this.#looking)
    this.#stop()
    this.#listeners.clear()
  }

  #say(run_id: string): void {
    for (const heard of this.#listeners) heard(run_id)
  }

  async #look(): Promise<void> {
    if (this.#listeners.size === 0) return
    try {
      for (const run_id of await this.#find()) this.#say(run_id)
    } catch {
      // The next look will find it.
    }
  }
}
