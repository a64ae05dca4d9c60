import { rootBytes, type KeyChange, type KeyRecord } from "../ports/vault.ts"
import { all, get, run, type Steps } from "./sql.ts"

/** Everything that a root seals, but the errors of triggers: of those without their root, the kind is known. */
const sealedColumns = [
  ["runs", "key"],
  ["runs", "notify"],
  ["outbox", "url"],
  ["outbox", "last_error"],
  ["cache", "body"],
  ["kept_outputs", "body"],
  ["sent_events", "body"],
  ["versions", "body"],
  ["version_texts", "body"],
  ["file_objects", "key"],
  ["files", "body"],
  ["run_actions", "plan"],
  ["run_actions", "progress"],
] as const

/** What the store remembers of its keys; null where that was lost. */
export function* readKeyRecord(): Steps<KeyRecord | null> {
  const row = yield* get("SELECT mark, ring FROM store")
  return row === undefined ? null : { mark: row["mark"] as Uint8Array, ring: row["ring"] as Uint8Array }
}

export function* writeKeyRecord({ mark, ring }: KeyRecord): Steps<void> {
  yield* run("UPDATE store SET mark = ?, ring = ?", mark, ring)
}

/** Puts the keys under another master key, in the caller's transaction; no process has the store open. Null: neither key is that of the store. */
export function* changeKey(change: KeyChange): Steps<"changed" | "changed before" | null> {
  const record = yield* readKeyRecord()
  const next = record === null ? null : change(record, yield* rootsInUse())
  if (next === null) return null
  if (next === record) return "changed before"
  yield* writeKeyRecord(next)
  return "changed"
}

/** Looks at all of it: a key is changed once in months. */
function* rootsInUse(): Steps<readonly Uint8Array[]> {
  const heads = sealedColumns.map(
    ([table, column]) => `SELECT substr(${column}, 1, ${rootBytes}) AS head FROM ${table} WHERE ${column} IS NOT NULL`,
  )
  return (yield* all(heads.join(" UNION "))).map(({ head }) => head as Uint8Array)
}
