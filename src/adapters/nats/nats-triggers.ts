import type { StoredTrigger, TriggerPause, TriggerState, TriggerStore } from "../../ports/trigger-store.ts"
import type { Vault } from "../../ports/vault.ts"
import { fromStored, toStored, type StoredState } from "../../store/trigger-state.ts"
import type { Broker } from "./broker.ts"
import { packFrame, unpackFrame } from "./frame.ts"

/**
 * Marks and pauses of triggers: two subjects for each. A mark is replaced by who read it last. While a cluster elects a leader two may
 * succeed; runs are started once all the same, by their idempotency keys, and a pause is no part of what the two replace.
 */
export class NatsTriggers implements TriggerStore {
  readonly #broker: Broker
  readonly #vault: Vault

  constructor(broker: Broker, vault: Vault) {
    this.#broker = broker
    this.#vault = vault
  }

  async read(id: string): Promise<StoredTrigger | null> {
    const subject = this.#broker.names.trigger(id)
    const found = await this.#broker.getFromLeader("keys", subject)
    if (found === null) return null
    const { facts } = unpackFrame<StoredState>(subject, found.data)
    return { state: fromStored(this.#vault, id, facts), revision: found.seq }
  }

  async write(id: string, state: TriggerState, read: number | null): Promise<boolean> {
    const subject = this.#broker.names.trigger(id)
    const data = packFrame(toStored(this.#vault, id, state), [])
    const written = read === null ? this.#broker.putOnce(subject, data) : this.#broker.replace(subject, data, read)
    return (await written) !== null
  }

  async pause(id: string): Promise<TriggerPause | null> {
    const subject = this.#broker.names.pause(id)
    const found = await this.#broker.getFromLeader("keys", subject)
    return found === null ? null : unpackFrame<TriggerPause>(subject, found.data).facts
  }

  async setPause(id: string, pause: TriggerPause): Promise<void> {
    await this.#broker.put(this.#broker.names.pause(id), packFrame(pause, []))
  }
}
