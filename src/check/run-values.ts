import { stringType } from "../types/primitives.ts"
import type { RecordType } from "../types/types.ts"

/** What `run` holds. */
export const runType: RecordType = {
  kind: "record",
  fields: [
    { name: "id", type: stringType, doc: "The id of the run." },
    {
      name: "started_at",
      type: stringType,
      doc: "When the run began: RFC 3339, in UTC, with milliseconds. It stays the same when the run is resumed.",
    },
    { name: "date", type: stringType, doc: "The day on which the run began, in UTC: `YYYY-MM-DD`." },
  ],
}

/** How a test says when its run began. */
export const timeForm = "a date and time such as 2027-02-28T23:30:00Z"

/** The value of `run` for words of other languages: `now`, `today`. */
export const foreignRunRoots: ReadonlyMap<string, string> = new Map([
  ["now", "run.started_at"],
  ["timestamp", "run.started_at"],
  ["today", "run.date"],
  ["run_id", "run.id"],
])

/** The fields of `run` by the names that people expect. */
export const foreignRunFields: ReadonlyMap<string, string> = new Map([
  ["time", "started_at"],
  ["now", "started_at"],
  ["start", "started_at"],
  ["started", "started_at"],
  ["created_at", "started_at"],
  ["timestamp", "started_at"],
  ["datetime", "started_at"],
  ["today", "date"],
  ["day", "date"],
  ["started_on", "date"],
  ["run_id", "id"],
  ["uuid", "id"],
])
