import { objectGraceMs, type AddedFile, type FileDeletion } from "../ports/file-store.ts"
import type { AddFileOperation, DeleteFileOperation, ForgetObjectsOperation, UseFilesOperation } from "./operations.ts"
import { all, get, insert, run, type Row, type Steps } from "./sql.ts"

// Files, each inside of a transaction of the writer.

/** Files that expire in one slice of a sweep. */
const sweptFiles = 500

export function* addFile(operation: AddFileOperation): Steps<AddedFile> {
  const { caller, object, bytes, now, until, made } = operation
  const [slot, content, key, body] = operation.blobs
  const known = yield* get("SELECT num, file_id, created_at FROM files WHERE slot = ?", slot)
  if (known !== undefined) {
    yield* run("UPDATE files SET until = ?1 WHERE num = ?2 AND until < ?1", until, known["num"] as number)
    if (made !== null) yield* useFiles(made.run_id, [known["num"] as number], made.step)
    return {
      outcome: "known",
      file_id: known["file_id"] as string,
      created_at: known["created_at"] as number,
      taken: false,
    }
  }
  const same = yield* get("SELECT num FROM file_objects WHERE content = ?", content)
  if (same === undefined) {
    const total = yield* get("SELECT bytes FROM file_totals WHERE caller = ?", caller)
    if (((total?.["bytes"] as number | undefined) ?? 0) + bytes > operation.most)
      return { outcome: "full", taken: false }
    yield* addToTotals(caller, bytes, 0)
  }
  const of =
    (same?.["num"] as number | undefined) ??
    (yield* insert(
      "INSERT INTO file_objects (name, caller, content, bytes, key) VALUES (?, ?, ?, ?, ?)",
      object,
      caller,
      content,
      bytes,
      key,
    ))
  const num = yield* insert(
    "INSERT INTO files (file_id, caller, object, slot, created_at, until, body) VALUES (?, ?, ?, ?, ?, ?, ?)",
    operation.file_id,
    caller,
    of,
    slot,
    now,
    until,
    body,
  )
  yield* addToTotals(caller, 0, 1)
  if (made !== null) yield* useFiles(made.run_id, [num], made.step)
  return { outcome: "stored", file_id: operation.file_id, created_at: now, taken: same === undefined }
}

function* addToTotals(caller: string, bytes: number, files: number): Steps<void> {
  yield* run(
    `INSERT INTO file_totals (caller, bytes, files) VALUES (?, ?, ?)
     ON CONFLICT (caller) DO UPDATE SET bytes = file_totals.bytes + excluded.bytes, files = file_totals.files + excluded.files`,
    caller,
    bytes,
    files,
  )
}

/** The numbers of a caller's files in the order of their ids; the first id that names none of them. */
export function* numbersOfFiles(
  caller: string,
  ids: readonly string[],
): Steps<{ readonly numbers: readonly number[] } | { readonly missing: string }> {
  const numbers: number[] = []
  for (const file_id of ids) {
    const row = yield* get("SELECT num FROM files WHERE file_id = ? AND caller = ?", file_id, caller)
    if (row === undefined) return { missing: file_id }
    numbers.push(row["num"] as number)
  }
  return { numbers }
}

/** A run that has not ended refers to these files. One that it has referred to counts once for each step. */
export function* useFiles(run_id: string, files: readonly number[], step: string | null): Steps<void> {
  for (const file of files) {
    const added = yield* run(
      `INSERT INTO file_refs (run, file, made, step) SELECT num, ?2, ?3, ?4 FROM runs WHERE run_id = ?1
       ON CONFLICT (run, file, made, step) DO NOTHING`,
      run_id,
      file,
      step === null ? 0 : 1,
      step ?? "",
    )
    yield* run("UPDATE files SET refs = refs + ? WHERE num = ?", added, file)
  }
}

/** Files that a run takes over from another one: all of them, or none. */
export function* useStoredFiles({ run_id, caller, files, step }: UseFilesOperation): Steps<boolean> {
  const found = yield* numbersOfFiles(caller, files)
  if ("missing" in found) return false
  yield* useFiles(run_id, found.numbers, step)
  return true
}

/** `listed`: what selects the numbers of runs that are deleted, with their JSON text as the first value. */
export function* forgetUses(listed: string, text: string): Steps<void> {
  yield* run(
    `UPDATE files SET refs = files.refs - gone.uses
     FROM (SELECT file, count(*) AS uses FROM file_refs WHERE run IN ${listed} GROUP BY file) AS gone
     WHERE files.num = gone.file`,
    text,
  )
}

export function* deleteFile({ file_id, now }: DeleteFileOperation): Steps<FileDeletion> {
  const file = yield* get("SELECT num, caller, object FROM files WHERE file_id = ?", file_id)
  if (file === undefined) return "gone"
  const used = yield* get(
    `SELECT 1 AS used FROM file_refs JOIN runs ON runs.num = file_refs.run
     WHERE file_refs.file = ? AND runs.finished_at IS NULL LIMIT 1`,
    file["num"] as number,
  )
  if (used !== undefined) return "used"
  yield* dropFile(file, now + objectGraceMs)
  return "deleted"
}

/** The files that only these runs use. Their objects are due at once. */
export function* dropFilesOf(listed: string, runs: string, now: number): Steps<void> {
  const files = yield* all(
    `SELECT num, caller, object FROM files WHERE num IN (SELECT file FROM file_refs WHERE run IN ${listed})
     AND NOT EXISTS (SELECT 1 FROM file_refs WHERE file = files.num AND run NOT IN ${listed})`,
    runs,
  )
  for (const file of files) yield* dropFile(file, now)
}

function* dropFile(file: Row, gone_at: number): Steps<void> {
  const object = file["object"] as number
  yield* run("DELETE FROM file_refs WHERE file = ?", file["num"] as number)
  yield* run("DELETE FROM files WHERE num = ?", file["num"] as number)
  yield* addToTotals(file["caller"] as string, 0, -1)
  // The same contents, sent from now on, make a new object.
  yield* run(
    "UPDATE file_objects SET content = NULL, gone_at = ?2 WHERE num = ?1 AND NOT EXISTS (SELECT 1 FROM files WHERE object = ?1)",
    object,
    gone_at,
  )
}

/** Those whose time is over, and which no run refers to. */
export function* sweepFiles(now: number): Steps<number> {
  const files = yield* all(
    "SELECT num, caller, object FROM files WHERE refs = 0 AND until <= ? ORDER BY until LIMIT ?",
    now,
    sweptFiles,
  )
  for (const file of files) yield* dropFile(file, now + objectGraceMs)
  return files.length
}

export function* forgetObjects({ objects }: ForgetObjectsOperation): Steps<null> {
  for (const name of objects) {
    const object = yield* get(
      "SELECT num, caller, bytes FROM file_objects WHERE name = ? AND gone_at IS NOT NULL",
      name,
    )
    if (object === undefined) continue
    yield* run("DELETE FROM file_objects WHERE num = ?", object["num"] as number)
    yield* addToTotals(object["caller"] as string, -(object["bytes"] as number), 0)
  }
  return null
}
