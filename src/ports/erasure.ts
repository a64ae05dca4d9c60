import { canonicalJson } from "../base/canonical-json.ts"
import { isJsonObject } from "../base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../base/json-value.ts"
import type { Deletion } from "./deletion.ts"

// Erasing runs by a value of their input. A store finds them by keyed hashes of values, and keeps the ids of those that it has erased.

/** A value of an input, by the keyed hash of its canonical JSON. */
export interface SoughtValue {
  /** `input.customer` */
  readonly path: string
  readonly digest: string
}

export interface ErasureQuery {
  /** All of them must hold. */
  readonly where: readonly SoughtValue[]
  /** Only runs of this workflow of the server's folder; null for all. */
  readonly workflow: string | null
  /** A place in the order in which runs were made: only later runs. */
  readonly after: number
  /** Only runs up to this place. */
  readonly until: number
}

/** A few of the runs that a query may be about. */
export interface ErasureSlice {
  /** `sure`: every value was indexed when the run was stored. Of others the request must be read. */
  readonly runs: readonly { readonly run_id: string; readonly place: number; readonly sure: boolean }[]
  /** Where the next slice begins. */
  readonly next: number
}

export interface ErasedRun {
  readonly run_id: string
  readonly erased_at: number
}

export interface ErasureStore {
  /** The keyed hash of a value, which tells nobody what it is. */
  digest(path: string, value: JsonValue): Promise<string>
  /** The place of the run that was made last. */
  newest(): Promise<number>
  slice(query: ErasureQuery): Promise<ErasureSlice>
  /** Shadows and re-runs of a run that are still there. */
  madeFrom(run_id: string): Promise<readonly string[]>
  /**
   * What `delete` does, and more: notices that are still to be delivered, keys that outlive their runs, and files that no other run uses go in the same step.
   * Its id is kept without end.
   */
  erase(run_id: string): Promise<Deletion>
  /** Ids of erased runs, in their order. `after`: the last one of the page before. */
  erased(limit: number, after: string): Promise<readonly ErasedRun[]>
}

/** The value at a path below the input; undefined where there is none. Elements of arrays have no path. */
export function valueAt(input: JsonObject, path: string): JsonValue | undefined {
  let value: JsonValue | undefined = input
  for (const name of path.split(".").slice(1)) {
    if (!isJsonObject(value) || !Object.hasOwn(value, name)) return undefined
    value = value[name]
  }
  return value
}

/** What a keyed hash is made of. */
export function soughtParts(path: string, value: JsonValue): readonly string[] {
  return [path, canonicalJson(value)]
}

/** `input.customer`, `input.order.id`: at least one field below the input, none of them an element. */
export const erasePath = /^input(?:\.[A-Za-z_][A-Za-z0-9_-]*)+$/

/** No end: a number that every database takes. */
export const withoutEnd = 8_640_000_000_000_000
