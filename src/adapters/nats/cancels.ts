import { OnceListeners } from "../../ports/listeners.ts"
import type { Broker } from "./broker.ts"
import { packFrame } from "./frame.ts"
import { isRunId, lastToken } from "./names.ts"

/** An announcement may get lost on its way: how often to look whether one has. */
const lookMs = 3_000

/** Cancel requests: stored, then announced by the broker to every process. */
export class Cancels {
  readonly #broker: Broker
  readonly #listeners = new OnceListeners()
  readonly #stop: () => void
  readonly #stopLooking: () => void

  constructor(broker: Broker) {
    this.#broker = broker
    this.#stop = broker.listen(broker.names.said, ({ subject }) => this.#listeners.tell(lastToken(subject)))
    this.#stopLooking = broker.every(lookMs, () => this.#look())
    broker.onReconnect(() => this.#look())
  }

  async request(run_id: string): Promise<void> {
    await this.#broker.put(this.#broker.names.cancel(run_id), packFrame({}, []))
    this.#listeners.tell(run_id)
  }

  async isRequested(run_id: string): Promise<boolean> {
    return (await this.#broker.get("keys", this.#broker.names.cancel(run_id), "sure")) !== null
  }

  on(run_id: string, listener: () => void): () => void {
    if (!isRunId(run_id)) return () => {}
    const stop = this.#listeners.add(run_id, listener)
    this.#lookAt(run_id)
    return stop
  }

  close(): void {
    this.#stopLooking()
    this.#stop()
    this.#listeners.clear()
  }

  #look(): void {
    for (const run_id of this.#listeners.names()) this.#lookAt(run_id)
  }

  #lookAt(run_id: string): void {
    this.isRequested(run_id).then(
      (requested) => requested && this.#listeners.tell(run_id),
      // The next look will find it.
      () => undefined,
    )
  }
}
