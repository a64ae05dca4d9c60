import type { StoredTrigger, TriggerPause, TriggerState, TriggerStore } from "../../ports/trigger-store.ts"
import type { Vault } from "../../ports/vault.ts"
import { fromStored, toStored, type StoredState } from "../../store/trigger-state.ts"
import type { Broker } from "./broker.ts"
import { packFrame, unpackFrame } from "./frame.ts"

/** Marks and pauses of triggers: two rows for each. A mark is replaced by who read it last. */
export class NatsTriggers implements TriggerStore {
  readonly #broker: Broker
  readonly #vault: Vault

  constructor(broker: Broker, vault: Vault) {
    this.#broker = broker
    this.#vault = vault
  }

  async read(id: string): Promise<StoredTrigger | null> {
    const subject = this.#broker.names.trigger(id)
    const found = await this.#broker.row(subject)
    if (found === null) return null
    const { facts } = unpackFrame<StoredState>(subject, found.data)
    return { state: fromStored(this.#vault, id, facts), revision: found.seq }
  }

  async write(id: string, state: TriggerState, read: number | null): Promise<boolean> {
    const subject = this.#broker.names.trigger(id)
    const data = packFrame(toStored(this.#vault, id, state), [])
    return (await this.#broker.write([{ subject, data, expected: read ?? 0, replaces: true }])) !== null
  }

  async pause(id: string): Promise<TriggerPause | null> {
    const subject = this.#broker.names.pause(id)
    const found = await this.#broker.row(subject)
    return found === null ? null : unpackFrame<TriggerPause>(subject, found.data).facts
  }

  async setPause(id: string, pause: TriggerPause): Promise<void> {
    await this.#broker.write([{ subject: this.#broker.names.pause(id), data: packFrame(pause, []), replaces: true }])
  }
}
