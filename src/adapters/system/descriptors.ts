import { readdirSync, readFileSync } from "node:fs"

export interface Descriptors {
  readonly open: number
  readonly most: number
}

/** File descriptors of this process; null where the system does not say. */
export function countDescriptors(): Descriptors | null {
  const most = maxDescriptors()
  if (most === null) return null
  try {
    return { open: readdirSync("/proc/self/fd").length, most }
  } catch (error) {
    // To look takes one, too.
    return isShortage(error) ? { open: most, most } : null
  }
}

let known: number | null | undefined

/** Read once: Node raises its limit as far as it may when it starts, and it does not change later. */
function maxDescriptors(): number | null {
  if (known === undefined) {
    try {
      const [, soft] = /^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8")) ?? []
      known = soft === undefined ? null : Number(soft)
    } catch {
      known = null
    }
  }
  return known
}

function isShortage(error: unknown): boolean {
  return error instanceof Error && "code" in error && (error.code === "EMFILE" || error.code === "ENFILE")
}

/** Nearly none left: what is left is for the store, and for the answer that says so. */
export function isShort({ open, most }: Descriptors): boolean {
  return open > most - reserve(most)
}

/** Enough again, with some distance, so that readiness does not flicker. */
export function isEnough({ open, most }: Descriptors): boolean {
  return open < most - 2 * reserve(most)
}

function reserve(most: number): number {
  return Math.max(8, Math.floor(most * 0.03))
}
