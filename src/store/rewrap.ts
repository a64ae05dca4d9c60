import type { RewrapOperation } from "./operations.ts"
import { run, type Steps } from "./sql.ts"

const updates: Readonly<Record<RewrapOperation["what"], string>> = {
  "run key": "UPDATE runs SET key = ?1 WHERE key = ?2 AND run_id = ?3 AND ?4 = 0",
  "run url": "UPDATE runs SET notify = ?1 WHERE notify = ?2 AND run_id = ?3 AND ?4 = 0",
  "notice url": "UPDATE outbox SET url = ?1 WHERE url = ?2 AND run_id = ?3 AND event_id = ?4",
  "notice error": "UPDATE outbox SET last_error = ?1 WHERE last_error = ?2 AND run_id = ?3 AND event_id = ?4",
}

/** Puts the same thing under another master key in the place of what is there, unless that has changed since. */
export function* rewrap({ what, run_id, event_id, blobs: [before, after] }: RewrapOperation): Steps<null> {
  yield* run(updates[what], after, before, run_id, event_id)
  return null
}
