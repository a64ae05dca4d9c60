import { randomBytes } from "node:crypto"
import { closeSync, existsSync, openSync, readdirSync, rmSync, statSync } from "node:fs"
import { basename, dirname } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { codeOf, sqliteCode } from "./sqlite-error.ts"

// A process that is killed leaves its leases behind, and a restart should not have to wait until they run out a
// second later. So every open store holds a lock on a file of its own, which the kernel releases with the process,
// however it ends; a process that can take that lock knows that the holder is dead. The file is an empty SQLite database only
// because SQLite locks files properly on every system, and Node does not.

export interface Holder {
  readonly id: string
  release(): void
}

/** Without a journal, which would be a second file. */
const takeLock = "PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE"

/** Registers this store as alive. */
export function holdDatabase(path: string): Holder {
  for (;;) {
    const id = randomBytes(8).toString("hex")
    const file = fileOf(path, id)
    // SQLite would let others read it.
    closeSync(openSync(file, "wx", 0o600))
    const lock = new DatabaseSync(file, { timeout: 5_000 })
    lock.exec(takeLock)
    // Someone who was clearing up may have taken the file for a dead one's before it was locked.
    if (!existsSync(file)) {
      lock.close()
      continue
    }
    return {
      id,
      release() {
        lock.close()
        rmSync(file, { force: true })
      },
    }
  }
}

/** Also removes what a dead one left. */
export function isAlive(path: string, id: string): boolean {
  return isLocked(fileOf(path, id), (file) => rmSync(file, { force: true }))
}

function isLocked(file: string, unlocked: (file: string) => void): boolean {
  if (!existsSync(file)) return false
  let lock: DatabaseSync | undefined
  try {
    lock = new DatabaseSync(file)
    lock.exec(takeLock)
    unlocked(file)
    return false
  } catch (error) {
    // Other trouble with the file does not prove that the process died: its lease will expire.
    return codeOf(error) === sqliteCode.busy || existsSync(file)
  } finally {
    lock?.close()
  }
}

/** Removes what killed processes left. */
export function clearDeadHolders(path: string): void {
  for (const id of holderIds(path)) if (isLeft(fileOf(path, id))) isAlive(path, id)
}

/** How many processes have the database open, and how many died without closing it. Changes nothing. */
export function countHolders(path: string): { readonly living: number; readonly dead: number } {
  const files = holderIds(path).map((id) => fileOf(path, id))
  const unlocked = files.filter((file) => !isLocked(file, () => undefined))
  // One that was made this very moment counts as neither.
  return { living: files.length - unlocked.length, dead: unlocked.filter(isLeft).length }
}

function holderIds(path: string): string[] {
  const prefix = basename(fileOf(path, ""))
  return readdirSync(dirname(path))
    .filter((name) => name.startsWith(prefix))
    .map((name) => name.slice(prefix.length))
    .filter((id) => /^[0-9a-f]{16}$/.test(id))
}

/**
 * A file that was made this very moment may belong to a process that is about to lock it. A slower one notices that its file was
 * removed, and makes another.
 */
function isLeft(file: string): boolean {
  try {
    return Date.now() - statSync(file).mtimeMs > 1_000
  } catch {
    return false
  }
}

function fileOf(path: string, id: string): string {
  return `${path}-holder-${id}`
}
