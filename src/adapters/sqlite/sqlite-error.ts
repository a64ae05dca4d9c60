import { StoreFailure } from "../../ports/store.ts"

/** Primary result codes of SQLite, as far as we tell them apart. */
export const sqliteCode = {
  busy: 5,
  readonly: 8,
  ioError: 10,
  corrupt: 11,
  full: 13,
  cannotOpen: 14,
  tooBig: 18,
  constraint: 19,
  notADatabase: 26,
} as const

/** The primary result code of an error that SQLite raised, or null. */
export function codeOf(error: unknown): number | null {
  if (!(error instanceof Error && "errcode" in error && typeof error.errcode === "number")) return null
  return error.errcode & 0xff
}

/** The message for an operator. It never contains anything of a run. */
export function sentenceFor(path: string, error: unknown): string {
  switch (codeOf(error)) {
    case sqliteCode.busy:
      return `${path} is locked by another process; nothing was stored`
    case sqliteCode.readonly:
      return `${path} cannot be written to; check the permissions of the file and of its directory`
    case sqliteCode.ioError:
      return `Reading or writing ${path} failed (${textOf(error)}); check the disk`
    case sqliteCode.corrupt:
      return `${path} is damaged (${textOf(error)}); restore it from a backup, or move it away to begin anew`
    case sqliteCode.full:
      return `The disk is full: nothing more can be stored in ${path} until there is space`
    case sqliteCode.cannotOpen:
      return `${path} cannot be opened; check that the directory exists and can be written to, and that the process may open more files (ulimit -n)`
    case sqliteCode.tooBig:
      return `A value is too large to store in ${path}`
    case sqliteCode.notADatabase:
      return `${path} is not a database of this service; move it away, or set WIRE_DATA_DIR to another directory`
    default:
      return `The database ${path} failed: ${textOf(error)}`
  }
}

export function failureOf(path: string, error: unknown): StoreFailure {
  return error instanceof StoreFailure ? error : new StoreFailure(sentenceFor(path, error), error)
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
