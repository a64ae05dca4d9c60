import type { KeptOutput, StoredTrigger, TriggerPause, TriggerState, TriggerStore } from "../../ports/trigger-store.ts"

export class MemoryTriggers implements TriggerStore {
  readonly #states = new Map<string, StoredTrigger>()
  readonly #pauses = new Map<string, TriggerPause>()
  readonly #outputs = new Map<string, KeptOutput & { readonly run_id: string }>()

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

  async kept(id: string): Promise<KeptOutput | null> {
    const found = this.#outputs.get(id)
    return found === undefined ? null : { output: found.output, due_at: found.due_at }
  }

  keep(id: string, run_id: string, kept: KeptOutput): void {
    this.#outputs.set(id, { ...kept, run_id })
  }

  forgetRun(run_id: string): void {
    for (const [id, kept] of this.#outputs) if (kept.run_id === run_id) this.#outputs.delete(id)
  }
}
