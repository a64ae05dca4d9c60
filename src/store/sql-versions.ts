import type { Clock } from "../ports/clock.ts"
import { Damaged } from "../ports/store.ts"
import {
  noRuns,
  type KeptVersion,
  type NewVersion,
  type Pin,
  type RunCounts,
  type Serving,
  type VersionPosition,
  type VersionStore,
  type VersionText,
} from "../ports/version-store.ts"
import type { Vault } from "../ports/vault.ts"
import type { SqlMedium } from "./sql-medium.ts"
import { all, get, type Row, type SqlValue, type Steps } from "./sql.ts"

/** The sealed part of a version. */
interface Contents {
  /** The path of its main file. */
  readonly file: string
  /** By path: what finds its text. */
  readonly texts: Readonly<Record<string, string>>
}

const columns = "version, first_served_at, last_served_at, withdrawn_at"
const aboutText = "text of a version"

/** Kept versions, as rows. Names, versions and times are plain; paths and texts are sealed, and a text is found by a keyed hash. */
export class SqlVersions implements VersionStore {
  readonly #medium: SqlMedium
  readonly #vault: Vault
  readonly #clock: Clock

  constructor(medium: SqlMedium, vault: Vault, clock: Clock) {
    this.#medium = medium
    this.#vault = vault
    this.#clock = clock
  }

  keep({ workflow, version, digest, text }: NewVersion): Promise<"kept" | "clash"> {
    const { file, modules, source } = text
    const texts = Object.entries({ ...modules, [file]: source }).map(
      ([path, one]) => [path, one, this.#vault.digest(aboutText, [one])] as const,
    )
    const found = texts.map(([path, , hash]) => [path, Buffer.from(hash).toString("base64")])
    const contents: Contents = { file, texts: Object.fromEntries(found) as Record<string, string> }
    return this.#medium.send({
      kind: "keep version",
      workflow,
      version,
      at: this.#clock.now(),
      blobs: [
        this.#vault.digest("digest of a version", [digest]),
        this.#vault.seal(about(workflow, version), JSON.stringify(contents)),
        ...texts.flatMap(([, one, hash]) => [hash, this.#vault.seal(aboutText, one)]),
      ],
    })
  }

  async list(workflow: string, limit: number, after: VersionPosition | null): Promise<readonly KeptVersion[]> {
    return this.#medium.read(listVersions(workflow, limit, after))
  }

  async find(workflow: string, version: string): Promise<KeptVersion | null> {
    const row = await this.#medium.read(
      get(`SELECT ${columns} FROM versions WHERE workflow = ? AND version = ?`, workflow, version),
    )
    return row === undefined ? null : kept(row)
  }

  async text(workflow: string, version: string): Promise<VersionText | null> {
    return this.#medium.read(readText(this.#vault, workflow, version))
  }

  async runs(workflow: string, caller: string | null): Promise<ReadonlyMap<string, RunCounts>> {
    return this.#medium.read(countRuns(workflow, caller))
  }

  withdraw(workflow: string, version: string): Promise<boolean> {
    return this.#medium.send({ kind: "withdraw version", workflow, version, at: this.#clock.now(), blobs: [] })
  }

  async serve({ replica, files, served, until }: Serving): Promise<void> {
    const [found, serving] = [JSON.stringify(files), JSON.stringify(served)]
    const at = this.#clock.now()
    await this.#medium.send({ kind: "serve versions", replica, files: found, served: serving, at, until, blobs: [] })
  }

  pin(workflow: string, version: string | null): Promise<Pin | null> {
    return this.#medium.send({ kind: "pin workflow", workflow, version, at: this.#clock.now(), blobs: [] })
  }

  async pins(): Promise<readonly Pin[]> {
    const rows = await this.#medium.read(all("SELECT workflow, version, at, files FROM pins ORDER BY workflow"))
    return rows.map((row) => ({
      workflow: row["workflow"] as string,
      version: row["version"] as string,
      at: row["at"] as number,
      files: JSON.parse(row["files"] as string) as string[],
    }))
  }

  async sweep(before: number): Promise<number> {
    let deleted = 0
    for (let after: number | null = 0; after !== null;) {
      const slice: { readonly deleted: number; readonly after: number | null } = await this.#medium.send({
        kind: "sweep versions",
        before,
        after,
        now: this.#clock.now(),
        blobs: [],
      })
      deleted += slice.deleted
      after = slice.after
    }
    return deleted
  }
}

function about(workflow: string, version: string): string {
  return `version ${workflow} ${version}`
}

function* listVersions(workflow: string, limit: number, after: VersionPosition | null): Steps<KeptVersion[]> {
  const values: SqlValue[] = [workflow]
  if (after !== null) values.push(after.first_served_at, after.version)
  const beyond = after === null ? "" : "AND (first_served_at, version) < (?, ?) "
  const rows = yield* all(
    `SELECT ${columns} FROM versions WHERE workflow = ? ${beyond}ORDER BY first_served_at DESC, version DESC LIMIT ?`,
    ...values,
    limit,
  )
  return rows.map(kept)
}

function kept(row: Row): KeptVersion {
  return {
    version: row["version"] as string,
    first_served_at: row["first_served_at"] as number,
    last_served_at: row["last_served_at"] as number,
    withdrawn_at: row["withdrawn_at"] as number | null,
  }
}

function* readText(vault: Vault, workflow: string, version: string): Steps<VersionText | null> {
  const row = yield* get("SELECT body FROM versions WHERE workflow = ? AND version = ?", workflow, version)
  if (row === undefined) return null
  const contents = JSON.parse(vault.open(about(workflow, version), row["body"] as Uint8Array)) as Contents
  const texts: Record<string, string> = {}
  for (const [path, hash] of Object.entries(contents.texts)) {
    const found = yield* get("SELECT body FROM version_texts WHERE hash = ?", Buffer.from(hash, "base64"))
    if (found === undefined) throw new Damaged(`A file of version ${version} of ${workflow} is not in the store`)
    texts[path] = vault.open(aboutText, found["body"] as Uint8Array)
  }
  const { [contents.file]: source = "", ...modules } = texts
  return { file: contents.file, source, modules }
}

function* countRuns(workflow: string, caller: string | null): Steps<Map<string, RunCounts>> {
  const rows = yield* all(
    `SELECT version, CASE WHEN finished_at IS NOT NULL THEN 2 ELSE waiting END AS state, count(*) AS runs
     FROM runs WHERE workflow = ? AND shadow_of IS NULL${caller === null ? "" : " AND caller = ?"} GROUP BY 1, 2`,
    workflow,
    ...(caller === null ? [] : [caller]),
  )
  const counts = new Map<string, RunCounts>()
  for (const row of rows) {
    const [version, state] = [
      row["version"] as string,
      (["open", "waiting", "ended"] as const)[row["state"] as 0 | 1 | 2],
    ]
    counts.set(version, { ...(counts.get(version) ?? noRuns), [state]: row["runs"] as number })
  }
  return counts
}
