import {
  noProgress,
  type ActionPlan,
  type ActionProgress,
  type ActionStore,
  type NewAction,
  type StoredAction,
} from "../ports/run-actions.ts"
import type { Vault } from "../ports/vault.ts"
import type { SqlMedium } from "./sql-medium.ts"
import { all, get, type Steps } from "./sql.ts"

/** Actions on many runs, as rows. Plan and progress are sealed: messages may quote what a run was given. */
export class SqlActions implements ActionStore {
  readonly #medium: SqlMedium
  readonly #vault: Vault

  constructor(medium: SqlMedium, vault: Vault) {
    this.#medium = medium
    this.#vault = vault
  }

  async add({ id, caller, by_operator, plan }: NewAction, due_at: number, until: number): Promise<void> {
    await this.#medium.send({
      kind: "add action",
      id,
      caller,
      by_operator,
      due_at,
      until,
      blobs: [
        this.#vault.seal(aboutPlan(id), JSON.stringify(plan)),
        this.#vault.seal(aboutProgress(id), JSON.stringify(noProgress)),
      ],
    })
  }

  async read(id: string): Promise<StoredAction | null> {
    return this.#medium.read(readAction(this.#vault, id))
  }

  async advance(id: string, read: number, progress: ActionProgress, due_at: number | null): Promise<boolean> {
    const sealed = this.#vault.seal(aboutProgress(id), JSON.stringify(progress))
    return this.#medium.send({ kind: "advance action", id, read, due_at, blobs: [sealed] })
  }

  async due(now: number, limit: number): Promise<readonly string[]> {
    return this.#medium.read(dueActions(now, limit))
  }
}

function* readAction(vault: Vault, id: string): Steps<StoredAction | null> {
  const row = yield* get(
    "SELECT caller, by_operator, revision, due_at, plan, progress FROM run_actions WHERE id = ?",
    id,
  )
  if (row === undefined) return null
  return {
    id,
    caller: row["caller"] as string,
    by_operator: row["by_operator"] === 1,
    plan: JSON.parse(vault.open(aboutPlan(id), row["plan"] as Uint8Array)) as ActionPlan,
    progress: JSON.parse(vault.open(aboutProgress(id), row["progress"] as Uint8Array)) as ActionProgress,
    completed: row["due_at"] === null,
    revision: row["revision"] as number,
  }
}

function* dueActions(now: number, limit: number): Steps<string[]> {
  const rows = yield* all("SELECT id FROM run_actions WHERE due_at <= ? ORDER BY due_at LIMIT ?", now, limit)
  return rows.map((row) => row["id"] as string)
}

// What sealed things are about: changing these makes what is stored unreadable.
const aboutPlan = (id: string): string => `action ${id}`
const aboutProgress = (id: string): string => `progress of action ${id}`
