import type { StoredTrigger, TriggerPause, TriggerState, TriggerStore } from "../ports/trigger-store.ts"
import type { Vault } from "../ports/vault.ts"
import type { SqlMedium } from "./sql-medium.ts"
import { get, type Steps } from "./sql.ts"
import { fromStored, toStored, type StoredState } from "./trigger-state.ts"

/** Marks and pauses of triggers, as rows. */
export class SqlTriggers implements TriggerStore {
  readonly #medium: SqlMedium
  readonly #vault: Vault

  constructor(medium: SqlMedium, vault: Vault) {
    this.#medium = medium
    this.#vault = vault
  }

  async read(id: string): Promise<StoredTrigger | null> {
    return this.#medium.read(readTrigger(this.#vault, id))
  }

  write(id: string, state: TriggerState, read: number | null): Promise<boolean> {
    const stored = JSON.stringify(toStored(this.#vault, id, state))
    return this.#medium.send({ kind: "write trigger", name: id, state: stored, read, blobs: [] })
  }

  async pause(id: string): Promise<TriggerPause | null> {
    return this.#medium.read(readPause(id))
  }

  async setPause(id: string, { paused, at }: TriggerPause): Promise<void> {
    await this.#medium.send({ kind: "pause trigger", name: id, paused, at, blobs: [] })
  }
}

function* readTrigger(vault: Vault, name: string): Steps<StoredTrigger | null> {
  const row = yield* get("SELECT revision, state FROM trigger_states WHERE name = ?", name)
  if (row === undefined) return null
  const stored = JSON.parse(row["state"] as string) as StoredState
  return { revision: row["revision"] as number, state: fromStored(vault, name, stored) }
}

function* readPause(name: string): Steps<TriggerPause | null> {
  const row = yield* get("SELECT paused, at FROM trigger_pauses WHERE name = ?", name)
  return row === undefined ? null : { paused: row["paused"] === 1, at: row["at"] as number }
}
