import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import { basename, dirname, join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import type { Random } from "../support/random.ts"

// The files of a SQLite database as a crash leaves them.

interface Files {
  readonly database: Buffer
  readonly log: Buffer
}

/** The files as they are on the disk now. No write may be in progress. */
export function filesOf(path: string): Files {
  return { database: readFileSync(path), log: readFileSync(`${path}-wal`) }
}

/** Bytes that are compared at once: most of a log is as it was. */
const block = 4096

function same(was: Buffer, is: Buffer, from: number): boolean {
  return was.compare(is, from, from + block, from, from + block) === 0
}

/** The power fails while the log is written: of what one write changes, the disk has a part, and the end is missing. */
export function tornWrite(before: Files, after: Files, random: Random): Files {
  const [was, is] = [before.log, after.log]
  // Where the log was emptied, the write went to the database, too: the log from before has all of it.
  if (!before.database.equals(after.database) || is.length < was.length) return before
  // Beyond its end the log is empty or has zeros: a write whose last bytes are zeros is whole without them.
  const differs = (at: number): boolean => is[at] !== (was[at] ?? 0)
  let first = 0
  while (first + block <= Math.min(was.length, is.length) && same(was, is, first)) first += block
  while (first < is.length && !differs(first)) first++
  let last = is.length - 1
  while (last > first && !differs(last)) last--
  if (first >= last) return before
  const cut = first + random.below(last - first)
  const rest = cut < was.length ? was.subarray(cut) : Buffer.alloc(random.chance(0.5) ? is.length - cut : 0)
  return { database: before.database, log: Buffer.concat([is.subarray(0, cut), rest]) }
}

/** Puts the files to another path. The processes that hold the database there are alive until the result is called. */
export function putFiles({ database, log }: Files, path: string, from: string): () => void {
  writeFileSync(path, database)
  writeFileSync(`${path}-wal`, log)
  const holders = readdirSync(dirname(from)).filter((name) => name.startsWith(`${basename(from)}-holder-`))
  const locks = holders.map((name) => {
    const lock = new DatabaseSync(join(dirname(path), name.replace(basename(from), basename(path))))
    lock.exec("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE")
    return lock
  })
  return () => {
    for (const lock of locks) lock.close()
  }
}
