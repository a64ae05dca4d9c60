import type { Clock } from "../ports/clock.ts"
import type {
  AddedFile,
  FileDeletion,
  FileFacts,
  FileStore,
  FileTotals,
  FileUse,
  NewFile,
  StoredFile,
} from "../ports/file-store.ts"
import type { Vault } from "../ports/vault.ts"
import type { SqlMedium } from "./sql-medium.ts"
import { all, get, type Row, type Steps } from "./sql.ts"

const columns = `files.num AS num, files.file_id AS file_id, files.caller AS caller, files.created_at AS created_at, files.until AS until,
  files.body AS body, file_objects.name AS object, file_objects.key AS key, file_objects.bytes AS bytes`
const joined = "files JOIN file_objects ON file_objects.num = files.object"

/** The sealed part of a file. */
type Sealed = Pick<FileFacts, "name" | "media_type" | "sha256">

/** Files as rows. What finds contents again is a keyed hash; keys are wrapped, names, types and hashes are sealed. */
export class SqlFiles implements FileStore {
  readonly #medium: SqlMedium
  readonly #vault: Vault
  readonly #clock: Clock

  constructor(medium: SqlMedium, vault: Vault, clock: Clock) {
    this.#medium = medium
    this.#vault = vault
    this.#clock = clock
  }

  add(file: NewFile): Promise<AddedFile> {
    const { caller, file_id, object, bytes, key, name, media_type, sha256, created_at, expires_at, most, made } = file
    const sealed: Sealed = { name, media_type, sha256 }
    const slot = made === undefined ? [caller, sha256, media_type, name] : [caller, file_id]
    return this.#medium.send({
      kind: "add file",
      caller,
      file_id,
      object,
      bytes,
      most,
      now: created_at,
      until: expires_at,
      made: made ?? null,
      blobs: [
        this.#vault.digest(made === undefined ? "file" : "file of a run", slot),
        this.#vault.digest("contents of a file", [caller, sha256]),
        this.#vault.seal(aboutKey(caller, object), Buffer.from(key).toString("base64")),
        this.#vault.seal(about(caller, file_id), JSON.stringify(sealed)),
      ],
    })
  }

  async one(file_id: string): Promise<StoredFile | null> {
    const row = await this.#medium.read(get(`SELECT ${columns} FROM ${joined} WHERE files.file_id = ?`, file_id))
    return row === undefined ? null : this.#opened(row)
  }

  async list(caller: string, limit: number, after: number): Promise<readonly StoredFile[]> {
    const rows = await this.#medium.read(
      all(
        `SELECT ${columns} FROM ${joined} WHERE files.caller = ? AND files.num < ? ORDER BY files.num DESC LIMIT ?`,
        caller,
        after === 0 ? Number.MAX_SAFE_INTEGER : after,
        limit,
      ),
    )
    return rows.map((row) => this.#opened(row))
  }

  async ofRun(run_id: string): Promise<readonly (StoredFile & FileUse)[]> {
    const rows = await this.#medium.read(
      all(
        `SELECT ${columns}, file_refs.made AS made, file_refs.step AS step
         FROM runs JOIN file_refs ON file_refs.run = runs.num JOIN files ON files.num = file_refs.file
           JOIN file_objects ON file_objects.num = files.object
         WHERE runs.run_id = ? ORDER BY file_refs.made, files.num, file_refs.step`,
        run_id,
      ),
    )
    return rows.map((row) => ({
      ...this.#opened(row),
      origin: row["made"] === 1 ? ("made" as const) : ("input" as const),
      step: row["step"] as string,
    }))
  }

  use(run_id: string, caller: string, files: readonly string[], step: string | null): Promise<boolean> {
    return this.#medium.send({ kind: "use files", run_id, caller, files, step, blobs: [] })
  }

  async runsOf(file_id: string): Promise<readonly string[]> {
    const rows = await this.#medium.read(
      all(
        `SELECT DISTINCT runs.run_id AS run_id FROM files JOIN file_refs ON file_refs.file = files.num JOIN runs ON runs.num = file_refs.run
         WHERE files.file_id = ? ORDER BY run_id LIMIT 1000`,
        file_id,
      ),
    )
    return rows.map((row) => row["run_id"] as string)
  }

  delete(file_id: string): Promise<FileDeletion> {
    return this.#medium.send({ kind: "delete file", file_id, now: this.#clock.now(), blobs: [] })
  }

  async dueObjects(limit: number): Promise<readonly string[]> {
    const rows = await this.#medium.read(
      all("SELECT name FROM file_objects WHERE gone_at <= ? ORDER BY gone_at LIMIT ?", this.#clock.now(), limit),
    )
    return rows.map((row) => row["name"] as string)
  }

  async named(objects: readonly string[]): Promise<readonly string[]> {
    return this.#medium.read(namedObjects(objects))
  }

  async forget(objects: readonly string[]): Promise<void> {
    await this.#medium.send({ kind: "forget objects", objects, blobs: [] })
  }

  async totals(caller: string | null): Promise<FileTotals> {
    const sums = "SELECT coalesce(sum(bytes), 0) AS bytes, coalesce(sum(files), 0) AS files FROM file_totals"
    const row = await this.#medium.read(caller === null ? get(sums) : get(`${sums} WHERE caller = ?`, caller))
    return { bytes: Number(row?.["bytes"] ?? 0), files: Number(row?.["files"] ?? 0) }
  }

  #opened(row: Row): StoredFile {
    return openFile(this.#vault, row)
  }
}

/** A file whose row has all columns. Throws `Damaged`. */
function openFile(vault: Vault, row: Row): StoredFile {
  const caller = row["caller"] as string
  const file_id = row["file_id"] as string
  const object = row["object"] as string
  const sealed = JSON.parse(vault.open(about(caller, file_id), row["body"] as Uint8Array)) as Sealed
  return {
    ...sealed,
    file_id,
    caller,
    object,
    key: Buffer.from(vault.open(aboutKey(caller, object), row["key"] as Uint8Array), "base64"),
    number: row["num"] as number,
    bytes: row["bytes"] as number,
    created_at: row["created_at"] as number,
    expires_at: row["until"] as number,
  }
}

function* namedObjects(objects: readonly string[]): Steps<readonly string[]> {
  const named: string[] = []
  for (const name of objects) {
    if ((yield* get("SELECT num FROM file_objects WHERE name = ?", name)) !== undefined) named.push(name)
  }
  return named
}

function about(caller: string, file_id: string): string {
  return `file ${file_id} of ${caller}`
}

function aboutKey(caller: string, object: string): string {
  return `key of ${object} of ${caller}`
}
