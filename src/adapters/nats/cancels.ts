import type { Broker } from "./broker.ts"
import { packFrame } from "./frame.ts"
import { isRunId, lastToken } from "./names.ts"

/** An announcement may get lost on its way: how often to look whether one has. */
const lookMs = 3_000

/** Cancel requests: stored, then announced by the broker to every process. */
export class Cancels {
  readonly #broker: Broker
  readonly #listeners = new Map<string, Set<() => void>>()
  readonly #stop: () => void
  readonly #stopLooking: () => void

  constructor(broker: Broker) {
    this.#broker = broker
    this.#stop = broker.listen(broker.names.said, ({ subject }) => this.#announce(lastToken(subject)))
    this.#stopLooking = broker.every(lookMs, () => this.#look())
    broker.onReconnect(() => this.#look())
  }

  async request(run_id: string): Promise<void> {
    await this.#broker.put(this.#broker.names.cancel(run_id), packFrame({}, []))
    this.#announce(run_id)
  }

  async isRequested(run_id: string): Promise<boolean> {
    return (await this.#broker.get("keys", this.#broker.names.cancel(run_id), "sure")) !== null
  }

  on(run_id: string, listener: () => void): () => void {
    if (!isRunId(run_id)) return () => {}
    const listeners = this.#listeners.get(run_id) ?? new Set()
    const stop = (): void => {
      listeners.delete(registered)
      if (listeners.size === 0 && this.#listeners.get(run_id) === listeners) this.#listeners.delete(run_id)
    }
    const registered = (): void => {
      if (!listeners.has(registered)) return
      stop()
      listener()
    }
    this.#listeners.set(run_id, listeners.add(registered))
    this.#lookAt(run_id)
    return stop
  }

  close(): void {
    this.#stopLooking()
    this.#stop()
    this.#listeners.clear()
  }

  #announce(run_id: string): void {
    for (const registered of this.#listeners.get(run_id) ?? []) queueMicrotask(registered)
  }

  #look(): void {
    for (const run_id of this.#listeners.keys()) this.#lookAt(run_id)
  }

  #lookAt(run_id: string): void {
    this.isRequested(run_id).then(
      (requested) => requested && this.#announce(run_id),
      // The next look will find it.
      () => undefined,
    )
  }
}
