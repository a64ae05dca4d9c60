import type { StoredTrigger, TriggerPause, TriggerState, TriggerStore } from "../../ports/trigger-store.ts"

export class MemoryTriggers implements TriggerStore {
  readonly #states = new Map<string, StoredTrigger>()
  readonly #pauses = new Map<string, TriggerPause>()

  async read(id: string): Promise<StoredTrigger | null> {
    return this.#states.get(id) ?? null
  }

  async write(id: string, state: TriggerState, read: number | null): Promise<boolean> {
    const revision = this.#states.get(id)?.revision ?? null
    if (revision !== read) return false
    this.#states.set(id, { state, revision: (revision ?? 0) + 1 })
    return true
  }

  async pause(id: string): Promise<TriggerPause | null> {
    return this.#pauses.get(id) ?? null
  }

  async setPause(id: string, pause: TriggerPause): Promise<void> {
    this.#pauses.set(id, pause)
  }
}
