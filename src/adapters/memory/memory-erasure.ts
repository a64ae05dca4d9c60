import { createHmac, randomBytes } from "node:crypto"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import {
  soughtParts,
  valueAt,
  type ErasedRun,
  type ErasureQuery,
  type ErasureSlice,
  type ErasureStore,
} from "../../ports/erasure.ts"
import type { Deletion } from "../../ports/store.ts"
import type { StoredRun } from "./stored-run.ts"

/** Ids of erased runs that are kept: a store in memory begins without any. */
const maxErased = 100_000

interface MemoryRuns {
  readonly all: () => Iterable<readonly [string, StoredRun]>
  /** How many were ever made. */
  readonly made: () => number
  readonly erase: (run_id: string) => Deletion
  readonly now: () => number
}

/** Finds the runs of an erasure among those in memory, and erases them. */
export class MemoryErasure implements ErasureStore {
  readonly #runs: MemoryRuns
  readonly #erased: Map<string, { readonly caller: string; readonly erased_at: number }>
  readonly #key = randomBytes(32)

  constructor(runs: MemoryRuns, erased: Map<string, { readonly caller: string; readonly erased_at: number }>) {
    this.#runs = runs
    this.#erased = erased
  }

  async digest(path: string, value: JsonValue): Promise<string> {
    return this.#digest(path, value)
  }

  #digest(path: string, value: JsonValue): string {
    return createHmac("sha256", this.#key)
      .update(JSON.stringify(soughtParts(path, value)))
      .digest("hex")
  }

  async newest(): Promise<number> {
    return this.#runs.made()
  }

  async slice({ where, workflow, after, until }: ErasureQuery): Promise<ErasureSlice> {
    const holds = (input: JsonObject): boolean =>
      where.every(({ path, digest }) => {
        const value = valueAt(input, path)
        return value !== undefined && this.#digest(path, value) === digest
      })
    const runs: { run_id: string; place: number; sure: boolean }[] = []
    for (const [run_id, { number, request }] of this.#runs.all()) {
      if (number <= after || number > until || (workflow !== null && request.workflow?.name !== workflow)) continue
      if (holds(request.input)) runs.push({ run_id, place: number, sure: true })
    }
    return { runs, next: until }
  }

  async madeFrom(run_id: string): Promise<readonly string[]> {
    const found: string[] = []
    for (const [id, { request }] of this.#runs.all()) {
      if (request.rerun?.run_id === run_id || request.workflow?.shadow_of === run_id) found.push(id)
    }
    return found
  }

  async erase(run_id: string): Promise<Deletion> {
    return this.#runs.erase(run_id)
  }

  /** A run goes for good. */
  remember(run_id: string, caller: string): void {
    this.#erased.set(run_id, { caller, erased_at: this.#runs.now() })
    const [oldest] = this.#erased.keys()
    if (this.#erased.size > maxErased && oldest !== undefined) this.#erased.delete(oldest)
  }

  async erased(limit: number, after: string): Promise<readonly ErasedRun[]> {
    const found = [...this.#erased].filter(([run_id]) => run_id > after).sort(([a], [b]) => (a < b ? -1 : 1))
    return found.slice(0, limit).map(([run_id, { erased_at }]) => ({ run_id, erased_at }))
  }
}
