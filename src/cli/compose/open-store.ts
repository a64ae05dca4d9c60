import { accessSync, constants, existsSync, mkdirSync, statSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { getHeapStatistics } from "node:v8"
import { openMemoryStore } from "../../adapters/memory/memory-store.ts"
import { backUp } from "../../adapters/sqlite/back-up.ts"
import { changeSqliteKey } from "../../adapters/sqlite/change-key.ts"
import { checkRefusal, checkStore } from "../../adapters/sqlite/check-store.ts"
import { clockFile } from "../../adapters/sqlite/clock-file.ts"
import { openSqliteStore } from "../../adapters/sqlite/open-sqlite-store.ts"
import { systemClock } from "../../adapters/system/system-clock.ts"
export { tooFewToStart } from "../../adapters/system/watch-descriptors.ts"
import { loadMasterKey, parseMasterKey, parseOldKey } from "../../adapters/vault/master-key.ts"
import { changeOfMasterKey, createMasterKey } from "../../adapters/vault/vault.ts"
import { StoreFailure, type RunStore } from "../../ports/store.ts"
import { StoreClock, type TimeSource } from "../../ports/store-clock.ts"
import type { StoreReport } from "../../store/check-tables.ts"
import { moveStore, movingMark, type MoveEnd, type MoveProgress } from "../../store/move-store.ts"
import { diskUse, roomOnDisk } from "./disk-room.ts"
import type { Settings } from "./settings.ts"
import { StartRefusal } from "./start-refusal.ts"
import { withoutLogin } from "./without-login.ts"

export { StartRefusal, type StoreReport }

export const leaseMs = 10_000
/** Each lease is renewed by itself. That a process has died shows sooner: its session ends. */
const postgresLeaseMs = 6_000
/** Where several processes share a SQLite database: how soon a stream or a cancel request in one sees what another has stored. */
const sharedPollMs = 40
const tombstoneMs = 30 * 24 * 3_600_000

/** Whether the message of a failed start is a sentence for the operator. */
export const isRefusal = (error: unknown): error is Error =>
  error instanceof StartRefusal || error instanceof StoreFailure

interface BareStore {
  readonly store: RunStore
  readonly learned?: TimeSource["learned"]
  readonly leaseMs: number
  /** How many processes have it open. Absent for a store that one service has for itself. */
  readonly processes?: () => Promise<number>
  /** Bytes that it has room for now, those that it holds included; null where that is not known. */
  readonly capacity: () => number | null
  /** The missing or damaged parts. */
  readonly warnings: readonly string[]
}

export interface OpenedStore extends BareStore {
  /** The store's time. */
  readonly clock: StoreClock
}

/** Rejects with a `StartRefusal` or a `StoreFailure`. */
export async function openStore(settings: Settings): Promise<OpenedStore> {
  const clock = new StoreClock(systemClock)
  const opened = await openWith(settings, clock)
  try {
    await clock.learn({ time: () => opened.store.time(), learned: opened.learned })
  } catch (error) {
    await opened.store.close()
    throw error
  }
  return { ...opened, clock }
}

async function openWith(settings: Settings, clock: StoreClock): Promise<BareStore> {
  const { store, dataDir, encryptionKey } = settings
  if (encryptionKey !== undefined && parseMasterKey(encryptionKey) === null) {
    throw new StartRefusal("WIRE_ENCRYPTION_KEY must be 32 bytes in Base64 or hex.")
  }
  if (store === "memory") {
    const memory = openMemoryStore(clock)
    // The rest is for runs under way and for what is in transit.
    const capacity = getHeapStatistics().heap_size_limit / 2
    return { store: memory, leaseMs, capacity: () => capacity, warnings: [] }
  }
  if (store !== "sqlite") return openPostgres(settings, clock)
  const folder = makeDataDir(dataDir)
  const path = join(folder, "wireworks.db")
  const keyFile = join(folder, "wireworks.key")
  const warnings: string[] = []
  if (existsSync(keyFile) && !existsSync(path)) {
    warnings.push(
      `The key file ${keyFile} is there and the database ${path} is not: this service begins with an empty store. ` +
        "If there were runs, stop it, put the database back and start again",
    )
  }
  const masterKey = createMasterKey(loadMasterKey({ configured: encryptionKey, file: keyFile, database: path }))
  const warn = (sentence: string): number => warnings.push(sentence)
  const shared = settings.processes > 1 && { pollMs: sharedPollMs }
  const { time, learned } = clockFile(path, () => clock.wall())
  const sqlite = await openSqliteStore({
    path,
    masterKey,
    clock,
    time,
    warn,
    erasePaths: settings.erasePaths,
    ...shared,
  })
  const capacity = roomOnDisk(() => diskUse(folder, path))
  return { store: sqlite, learned, leaseMs, capacity, warnings }
}

/** What the store of these settings says of itself, or why that cannot be known: a sentence for the operator. */
export function checkStoreOf(
  settings: Settings,
): Promise<{ readonly report: StoreReport } | { readonly refused: string }> {
  return orRefused(async () => {
    const checked = settings.store === "sqlite" ? checkSqlite(settings) : await checkPostgres(settings)
    if ("refused" in checked || checked.report.files === null || checked.report.files.files === 0) return checked
    const { checkObjects } = await import("./copy-files.ts")
    const { placeOfObjects } = await import("./open-files.ts")
    const names = await namedObjects(settings)
    return { report: await checkObjects(checked.report, await placeOfObjects(settings), names) }
  })
}

/** The objects that the database of these settings names, which a service may have open. */
async function namedObjects(settings: Settings): Promise<readonly string[]> {
  const { objectsNamedBy } = await import("./copy-files.ts")
  if (settings.store === "sqlite") return sqliteObjects(join(resolve(settings.dataDir), "wireworks.db"))
  const { openPostgresSource } = await import("../../adapters/postgres/move-end.ts")
  const source = await openPostgresSource(await postgresTarget(settings))
  try {
    return await objectsNamedBy(source)
  } finally {
    await source.close()
  }
}

function sqliteObjects(path: string): readonly string[] {
  const database = new DatabaseSync(path, { readOnly: true, timeout: 5_000 })
  try {
    const rows = database.prepare("SELECT name FROM file_objects ORDER BY num").all()
    return rows.map(({ name }) => String(name))
  } finally {
    database.close()
  }
}

/** Whether the database of these settings is whole, or why that cannot be known: a sentence for the operator. */
function checkSqlite(settings: Settings): { readonly report: StoreReport } | { readonly refused: string } {
  const folder = resolve(settings.dataDir)
  const path = join(folder, "wireworks.db")
  if (!existsSync(path)) return { refused: `There is no database ${path}.` }
  try {
    const found = statSync(path)
    if (found.isDirectory()) return { refused: `${path} is a directory, not a database.` }
    if (found.size === 0) return { refused: `${path} is empty.` }
    const file = join(folder, "wireworks.key")
    const key = loadMasterKey({ configured: settings.encryptionKey, file, database: path })
    return { report: checkStore(path, createMasterKey(key)) }
  } catch (error) {
    return { refused: error instanceof StoreFailure ? error.message : checkRefusal(path, error) }
  }
}

/** Copies the database of these settings while it may be in use; a sentence for the operator when that fails, null when it worked. */
export async function backUpSqlite(settings: Settings, target: string): Promise<string | null> {
  const path = join(resolve(settings.dataDir), "wireworks.db")
  if (!existsSync(path)) return `There is no database ${path}.`
  try {
    backUp(path, resolve(target))
    const names = sqliteObjects(resolve(target))
    if (names.length === 0) return null
    const { backupObjects, copyObjects } = await import("./copy-files.ts")
    const { placeOfObjects } = await import("./open-files.ts")
    const place = await placeOfObjects(settings)
    if (place === null) return null
    const missing = await copyObjects(names, place, backupObjects(resolve(target)), () => undefined)
    await place.close()
    if (missing.length === 0) return null
    return `The copy is made, but ${missing.length} of the ${names.length} objects of files are missing in ${place.where}.`
  } catch (error) {
    return error instanceof StoreFailure ? error.message : checkRefusal(path, error)
  }
}

/** Changes the encryption key of the store of these settings; a sentence for the operator where that fails. */
export function changeKeyOf(
  settings: Settings,
): Promise<{ readonly key: "changed" | "changed before" } | { readonly refused: string }> {
  return orRefused(async () => {
    if (settings.store === "sqlite") {
      const folder = resolve(settings.dataDir)
      const path = join(folder, "wireworks.db")
      if (!existsSync(path)) return { refused: `There is no database ${path}.` }
      const configured = settings.encryptionKey
      const key = loadMasterKey({ configured, file: join(folder, "wireworks.key"), database: path })
      return { key: changeSqliteKey(path, changeOfMasterKey(oldKey(settings, key), key)) }
    }
    const target = await postgresTarget(settings)
    const key = postgresKey(settings)
    const { changePostgresKey } = await import("../../adapters/postgres/change-key.ts")
    return { key: await changePostgresKey(target, changeOfMasterKey(oldKey(settings, key), key)) }
  })
}

/** What the work gives, or why it cannot be done: a sentence for the operator. */
async function orRefused<T>(work: () => Promise<T>): Promise<T | { readonly refused: string }> {
  try {
    return await work()
  } catch (error) {
    if (isRefusal(error)) return { refused: error.message }
    throw error
  }
}

function oldKey({ encryptionKeyOld }: Settings, key: Uint8Array): Uint8Array {
  const old = parseOldKey(encryptionKeyOld, key)
  if (old !== null) return old
  throw new StartRefusal(
    "Set WIRE_ENCRYPTION_KEY_OLD to the key that the store has now, and WIRE_ENCRYPTION_KEY (or the key file) to the new one.",
  )
}

export interface Move {
  readonly from: string
  readonly to: string
  readonly tell: (progress: MoveProgress) => void
}

/** Copies a store to another medium; a sentence for the operator where that fails. */
export async function moveStoreOf(
  settings: Settings,
  { from, to, tell }: Move,
): Promise<{ readonly rows: number; readonly resumed: boolean } | { readonly refused: string }> {
  const ends: MoveEnd[] = []
  try {
    const { openSqliteSource, openSqliteTarget, tableShapes } = await import("../../adapters/sqlite/move-end.ts")
    // Both are read before either is opened: a wrong target is said first.
    const fromPath = isPostgres(from) ? null : sqlitePath(settings, from)
    const toPath = isPostgres(to) ? null : sqlitePath(settings, to)
    const source =
      fromPath === null
        ? await (
            await import("../../adapters/postgres/move-end.ts")
          ).openPostgresSource(await postgresTarget(settings, from))
        : openSqliteSource(fromPath)
    ends.push(source)
    const mark = movingMark(await source.keys())
    const target =
      toPath === null
        ? await (
            await import("../../adapters/postgres/move-end.ts")
          ).openPostgresTarget(await postgresTarget(settings, to), mark)
        : openSqliteTarget(toPath, mark)
    ends.push(target)
    const [fromFolder, toFolder] = [fromPath, toPath].map((path) => (path === null ? settings.dataDir : dirname(path)))
    if (settings.files === undefined && resolve(fromFolder ?? "") !== resolve(toFolder ?? "")) {
      // Objects first: with the last row, services open the target.
      const { copyObjects, objectsNamedBy } = await import("./copy-files.ts")
      const { FolderObjects } = await import("../../adapters/files/folder-objects.ts")
      const names = await objectsNamedBy(source)
      const [before, after] = [fromFolder, toFolder].map(
        (folder) => new FolderObjects(join(resolve(folder ?? ""), "files")),
      )
      if (before !== undefined && after !== undefined && names.length > 0) {
        const missing = await copyObjects(names, before, after, (done) =>
          tell({ verb: "Copying", table: "files", done, total: names.length }),
        )
        if (missing.length > 0) {
          throw new StoreFailure(
            `${missing.length} of the ${names.length} objects of files are missing in ${before.where}`,
          )
        }
      }
    }
    return await moveStore(source, target, tableShapes(), tell)
  } catch (error) {
    if (error instanceof StoreFailure || error instanceof StartRefusal) return { refused: error.message }
    throw error
  } finally {
    for (const end of ends) await end.close()
  }
}

/** Whether replicas on other machines can have the same store. */
export function isPostgres(store: string): boolean {
  return /^postgres(ql)?:/.test(store)
}

/** What to use in place of NATS, after a sentence that refuses it. */
function insteadOf(store: string): string {
  if (!/^(nats|tls):/.test(store)) return ""
  return " Runs cannot be kept in NATS: PostgreSQL is the store for many machines (docs/cluster.md)."
}

/** `sqlite`, `sqlite:FOLDER` or `sqlite:FILE.db`. */
function sqlitePath({ dataDir }: Settings, store: string): string {
  const [, written] = /^sqlite(?::(.+))?$/.exec(store) ?? []
  if (!/^sqlite(?::|$)/.test(store)) {
    throw new StartRefusal(
      `"${withoutLogin(store)}" must be like sqlite:FOLDER or postgres://user:password@host/database.${insteadOf(store)}`,
    )
  }
  const path = resolve(written ?? dataDir)
  return path.endsWith(".db") ? path : join(path, "wireworks.db")
}

/** Not `recursive`: Node never returns from that where a file system has no folders to make, such as `/proc`. */
function makeFolder(path: string): void {
  if (existsSync(path)) return
  const above = dirname(path)
  if (above !== path) makeFolder(above)
  mkdirSync(path, { mode: 0o700 })
}

function makeDataDir(dataDir: string): string {
  const folder = resolve(dataDir)
  try {
    makeFolder(folder)
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new StartRefusal(`WIRE_DATA_DIR is "${dataDir}": it must be a folder that can be written to (${reason}).`)
  }
  return folder
}

async function openPostgres(settings: Settings, clock: StoreClock): Promise<BareStore> {
  const { openPostgresStore } = await import("../../adapters/postgres/open-postgres-store.ts")
  const options = await postgresOptions(settings)
  const warnings: string[] = []
  const warn = (sentence: string): number => warnings.push(sentence)
  const store = await openPostgresStore({ ...options, clock, warn, tombstoneMs, erasePaths: settings.erasePaths })
  return { store, processes: () => store.processes(), leaseMs: postgresLeaseMs, capacity: () => null, warnings }
}

async function postgresTarget(settings: Settings, store = settings.store) {
  if (!isPostgres(store)) {
    throw new StartRefusal(
      `WIRE_STORE is "${withoutLogin(store)}": it must be sqlite, memory, or like postgres://user:password@host/database.${insteadOf(store)}`,
    )
  }
  const { readAddress, readProofs } = await import("../../adapters/postgres/address.ts")
  const read = readAddress(store)
  if (!read.ok) throw new StartRefusal(`WIRE_STORE is "${withoutLogin(store)}": it must ${read.must}.`)
  const { postgresCa: ca, postgresCert: cert, postgresKey: key } = settings
  const proofs = readProofs({ ca, cert, key }, read.address)
  if (typeof proofs === "string") throw new StartRefusal(proofs)
  return { address: read.address, proofs, schema: settings.postgresSchema }
}

async function postgresOptions(settings: Settings) {
  const target = await postgresTarget(settings)
  return { ...target, masterKey: createMasterKey(postgresKey(settings)) }
}

/** Whether the tables of these settings are whole. */
async function checkPostgres(settings: Settings): Promise<{ readonly report: StoreReport }> {
  const { checkPostgresStore } = await import("../../adapters/postgres/check-store.ts")
  const { masterKey, ...target } = await postgresOptions(settings)
  return { report: await checkPostgresStore(target, masterKey) }
}

/** Several processes may use the store, on several machines. */
function postgresKey({ encryptionKey }: Settings): Uint8Array {
  if (encryptionKey === undefined) {
    throw new StartRefusal(
      "PostgreSQL needs WIRE_ENCRYPTION_KEY, the same on every replica: 32 bytes, as `openssl rand -base64 32` makes them. " +
        "Without it this replica cannot read the runs of the other replicas.",
    )
  }
  const masterKey = parseMasterKey(encryptionKey)
  if (masterKey === null) throw new StartRefusal("WIRE_ENCRYPTION_KEY must be 32 bytes in Base64 or hex.")
  return masterKey
}
