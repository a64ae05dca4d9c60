import { copyFileSync, existsSync, statSync } from "node:fs"
import { StoreFailure } from "../../ports/store.ts"
import { logProblem } from "./check-store.ts"
import { countHolders } from "./holder.ts"
import { readLogFile } from "./write-ahead-log.ts"

/**
 * What is missing or damaged beside a database that is about to be opened, a sentence each. Throws a `StoreFailure` where
 * opening it would make things worse.
 */
export function inspectFiles(path: string): string[] {
  const log = `${path}-wal`
  if (existsSync(path) && statSync(path).isDirectory()) {
    throw new StoreFailure(`${path} is a directory: move it away, or set WIRE_DATA_DIR to another directory`)
  }
  if (!existsSync(path) || statSync(path).size === 0) {
    if (!existsSync(log) || statSync(log).size === 0) return []
    throw new StoreFailure(
      `${path} is missing, and its write-ahead log ${log} is there: put the database back. ` +
        "To begin with an empty store, move the log away",
    )
  }
  const { living, dead } = countHolders(path)
  // Another process writes to it right now.
  if (living > 0) return []
  if (dead > 0 && !existsSync(log)) {
    return [
      `${log} is missing, although the process that had ${path} open did not close it: what was stored last may be lost. ` +
        "If you have the file, stop, put it back and start again",
    ]
  }
  const state = readLogFile(log)
  if (state === null || state.lost === 0) return []
  // SQLite is about to overwrite it.
  const copy = `${log}.damaged-${new Date().toISOString().replaceAll(":", "-")}`
  copyFileSync(log, copy)
  return [`${logProblem(path, state.lost)}. The damaged file was copied to ${copy}`]
}
