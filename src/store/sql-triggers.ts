import { Damaged } from "../ports/store.ts"
import type {
  KeptOutput,
  OutputKeeper,
  StoredTrigger,
  TriggerPause,
  TriggerState,
  TriggerStore,
} from "../ports/trigger-store.ts"
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

  async kept(id: string): Promise<KeptOutput | null> {
    return this.#medium.read(readKept(this.#vault, id))
  }

  /** An output has no run to be sealed for: it outlives its own. */
  sealOutput({ id }: OutputKeeper, { output }: KeptOutput): Uint8Array | null {
    return output === null ? null : this.#vault.seal(aboutOutput(id), output)
  }
}

function aboutOutput(id: string): string {
  return `output ${id}`
}

/** An output that is damaged counts as one that was not kept. */
function* readKept(vault: Vault, id: string): Steps<KeptOutput | null> {
  const row = yield* get("SELECT due_at, body FROM kept_outputs WHERE name = ?", id)
  if (row === undefined) return null
  const [due_at, body] = [row["due_at"] as number, row["body"] as Uint8Array | null]
  try {
    return { output: body === null ? null : vault.open(aboutOutput(id), body), due_at }
  } catch (error) {
    if (!(error instanceof Damaged)) throw error
    return { output: null, due_at }
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
