import { Listeners, OnceListeners } from "../../ports/listeners.ts"
import type { Broker } from "./broker.ts"
import { isRunId, lastToken } from "./names.ts"
import type { RunRows } from "./run-rows.ts"

/** An announcement may get lost on its way: how often to look whether one has. */
const lookMs = 3_000

/** Tells of cancels and outcomes as the broker announces them, and of what a look finds. */
export class Announcements {
  readonly #runs: RunRows
  readonly #outcomes = new Listeners<[run_id: string]>()
  readonly #cancels = new OnceListeners()
  readonly #find: () => Promise<readonly string[]>
  readonly #stop: readonly (() => void)[]

  /** `find`: runs that were woken, and runs of this process with outcomes that their logs do not show. */
  constructor(broker: Broker, runs: RunRows, find: () => Promise<readonly string[]>) {
    this.#runs = runs
    this.#find = find
    const { names } = broker
    this.#stop = [
      broker.listen(names.live(names.anyOutcome), ({ subject }) => this.outcome(subject.split(".").at(-2) ?? "")),
      broker.listen(names.live(names.anyCancel), ({ subject }) => this.cancel(lastToken(subject))),
      broker.every(lookMs, () => this.#look()),
    ]
    broker.onReconnect(() => this.#look())
  }

  onOutcome(listener: (run_id: string) => void): () => void {
    return this.#outcomes.add(listener)
  }

  onCancel(run_id: string, listener: () => void): () => void {
    if (!isRunId(run_id)) return () => {}
    const stop = this.#cancels.add(run_id, listener)
    void this.#lookForCancel(run_id)
    return stop
  }

  /** To this process. */
  outcome(run_id: string): void {
    this.#outcomes.tell(run_id)
  }

  /** A run that waits is woken by it. */
  cancel(run_id: string): void {
    this.#cancels.tell(run_id)
    this.#outcomes.tell(run_id)
  }

  close(): void {
    for (const stop of this.#stop) stop()
    this.#outcomes.clear()
    this.#cancels.clear()
  }

  #look(): void {
    for (const run_id of this.#cancels.names()) void this.#lookForCancel(run_id)
    if (this.#outcomes.size > 0) void this.#lookForOutcomes()
  }

  async #lookForCancel(run_id: string): Promise<void> {
    try {
      const run = await this.#runs.get(run_id)
      if (run?.facts.cancel === true) this.#cancels.tell(run_id)
    } catch {
      // The next look will find it.
    }
  }

  async #lookForOutcomes(): Promise<void> {
    try {
      for (const run_id of await this.#find()) this.outcome(run_id)
    } catch {
      // The next look will find it.
    }
  }
}
