import type { AddActionOperation, AdvanceActionOperation } from "./operations.ts"
import { run, type Steps } from "./sql.ts"

export function* addAction({ id, caller, by_operator, due_at, until, blobs }: AddActionOperation): Steps<null> {
  yield* run(
    "INSERT INTO run_actions (id, caller, by_operator, revision, due_at, until, plan, progress) VALUES (?, ?, ?, 1, ?, ?, ?, ?)",
    id,
    caller,
    by_operator ? 1 : 0,
    due_at,
    until,
    ...blobs,
  )
  return null
}

export function* advanceAction({ id, read, due_at, blobs: [progress] }: AdvanceActionOperation): Steps<boolean> {
  const changes = yield* run(
    "UPDATE run_actions SET revision = revision + 1, due_at = ?, progress = ? WHERE id = ? AND revision = ?",
    due_at,
    progress,
    id,
    read,
  )
  return changes > 0
}
