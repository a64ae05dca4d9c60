/** `EACCES` and the like. An error without a code is not the file system's: it is a bug, and thrown again. */
export function errorCode(error: unknown): string {
  if (error instanceof Error && "code" in error && typeof error.code === "string") return error.code
  throw error
}

const reasons: Readonly<Record<string, string>> = {
  EACCES: "no permission",
  EPERM: "no permission",
  EROFS: "the disk is read-only",
  ENOSPC: "the disk is full",
  ENOENT: "no such file",
  ELOOP: "links in a circle",
  EISDIR: "a folder",
}

/** Why a file or folder could not be read: a clause. */
export function whyUnreadable(error: unknown): string {
  return `cannot be read (${reason(error)})`
}

/** Why a file could not be written: a clause. */
export function whyUnwritable(error: unknown): string {
  return `cannot be written (${reason(error)})`
}

function reason(error: unknown): string {
  const code = errorCode(error)
  return reasons[code] ?? code
}
