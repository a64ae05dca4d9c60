import { isoTime } from "../../base/iso-time.ts"
import type { JsonObject } from "../../base/json-value.ts"

/** What expressions see of the run that they belong to. */
export interface RunValues {
  readonly id: string
  /** Milliseconds since the epoch. */
  readonly started_at: number
}

/** The value of `run`. */
export function runValues({ id, started_at }: RunValues): JsonObject {
  const time = isoTime(started_at)
  return { id, started_at: time, date: time.slice(0, 10) }
}
