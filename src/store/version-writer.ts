import type { Pin } from "../ports/version-store.ts"
import type {
  KeepVersionOperation,
  PinOperation,
  ServeOperation,
  SweepVersionsOperation,
  WithdrawVersionOperation,
} from "./operations.ts"
import { all, get, run, type Steps } from "./sql.ts"

// Kept versions of workflows, what replicas serve, and pins: what is written of them.

/** Versions that one slice of a sweep looks at. */
const sweptVersions = 100

export function* keepVersion(operation: KeepVersionOperation): Steps<"kept" | "clash"> {
  const { workflow, version, at, blobs } = operation
  const [digest, body, ...texts] = blobs
  const known = yield* get("SELECT digest FROM versions WHERE workflow = ? AND version = ?", workflow, version)
  if (known !== undefined) {
    if (Buffer.compare(known["digest"] as Uint8Array, digest) !== 0) return "clash"
    yield* run(
      "UPDATE versions SET last_served_at = ? WHERE workflow = ? AND version = ? AND last_served_at < ?",
      at,
      workflow,
      version,
      at,
    )
    return "kept"
  }
  yield* run(
    `INSERT INTO versions (workflow, version, digest, first_served_at, last_served_at, body) VALUES (?, ?, ?, ?, ?, ?)`,
    workflow,
    version,
    digest,
    at,
    at,
    body,
  )
  for (let index = 0; index + 1 < texts.length; index += 2) {
    const [hash, text] = [texts[index] ?? null, texts[index + 1] ?? null]
    yield* run("INSERT INTO version_texts (hash, body) VALUES (?, ?) ON CONFLICT (hash) DO NOTHING", hash, text)
    yield* run(
      `INSERT INTO version_uses (hash, workflow, version) VALUES (?, ?, ?) ON CONFLICT (hash, workflow, version) DO NOTHING`,
      hash,
      workflow,
      version,
    )
  }
  return "kept"
}

export function* withdrawVersion({ workflow, version, at }: WithdrawVersionOperation): Steps<boolean> {
  const changed = yield* run(
    "UPDATE versions SET withdrawn_at = coalesce(withdrawn_at, ?) WHERE workflow = ? AND version = ?",
    at,
    workflow,
    version,
  )
  return changed > 0
}

export function* serveVersions({ replica, files, served, at, until }: ServeOperation): Steps<null> {
  yield* run(
    `INSERT INTO replicas (replica, until, files, served) VALUES (?, ?, ?, ?)
     ON CONFLICT (replica) DO UPDATE SET until = excluded.until, files = excluded.files, served = excluded.served`,
    replica,
    until,
    files,
    served,
  )
  for (const [workflow, version] of Object.entries(JSON.parse(served) as Record<string, string>)) {
    yield* run(
      "UPDATE versions SET last_served_at = ? WHERE workflow = ? AND version = ? AND last_served_at < ?",
      at,
      workflow,
      version,
      at,
    )
  }
  return null
}

export function* pinWorkflow({ workflow, version, at }: PinOperation): Steps<Pin | null> {
  if (version === null) {
    yield* run("DELETE FROM pins WHERE workflow = ?", workflow)
    return null
  }
  const files = [...((yield* foundBy("files", at)).get(workflow) ?? [])]
  yield* run(
    `INSERT INTO pins (workflow, version, at, files) VALUES (?, ?, ?, ?)
     ON CONFLICT (workflow) DO UPDATE SET version = excluded.version, at = excluded.at, files = excluded.files`,
    workflow,
    version,
    at,
    JSON.stringify(files),
  )
  return { workflow, version, at, files }
}

/** By workflow: versions that running replicas have told of. */
function* foundBy(column: "files" | "served", now: number): Steps<Map<string, Set<string>>> {
  const found = new Map<string, Set<string>>()
  for (const row of yield* all(`SELECT ${column} FROM replicas WHERE until > ?`, now)) {
    for (const [workflow, version] of Object.entries(JSON.parse(row[column] as string) as Record<string, string>)) {
      found.set(workflow, (found.get(workflow) ?? new Set()).add(version))
    }
  }
  return found
}

/** One slice: how many were deleted, and whether there may be more. */
export function* sweepVersions({
  before,
  after,
  now,
}: SweepVersionsOperation): Steps<{ deleted: number; after: number | null }> {
  const rows = yield* all(
    "SELECT num, workflow, version FROM versions WHERE last_served_at < ? AND num > ? ORDER BY num LIMIT ?",
    before,
    after,
    sweptVersions,
  )
  const served = rows.length === 0 ? new Map<string, Set<string>>() : yield* foundBy("served", now)
  let deleted = 0
  for (const row of rows) {
    const [num, workflow, version] = [row["num"], row["workflow"] as string, row["version"] as string] as const
    if (served.get(workflow)?.has(version) === true) continue
    const used = yield* get(
      `SELECT 1 AS used FROM runs WHERE workflow = ? AND version = ?
       UNION ALL SELECT 1 AS used FROM pins WHERE workflow = ? AND version = ? LIMIT 1`,
      workflow,
      version,
      workflow,
      version,
    )
    if (used !== undefined) continue
    yield* run("DELETE FROM versions WHERE num = ?", num as number)
    yield* run(
      `DELETE FROM version_texts WHERE hash IN (SELECT hash FROM version_uses WHERE workflow = ? AND version = ?)
       AND NOT EXISTS (SELECT 1 FROM version_uses AS others WHERE others.hash = version_texts.hash AND NOT (others.workflow = ? AND others.version = ?))`,
      workflow,
      version,
      workflow,
      version,
    )
    yield* run("DELETE FROM version_uses WHERE workflow = ? AND version = ?", workflow, version)
    deleted++
  }
  return { deleted, after: rows.length < sweptVersions ? null : (rows.at(-1)?.["num"] as number) }
}
