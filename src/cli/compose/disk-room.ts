import { statfsSync, statSync } from "node:fs"

/** Bytes of a disk. */
export interface DiskUse {
  readonly total: number
  readonly free: number
  /** Bytes that the database takes. */
  readonly taken: number
}

/** Less than this share of the disk is free: it is full. */
const full = 0.01

/**
 * How many bytes a database may take: those that it takes, and those that are free. The most that was ever seen counts, so that files that come and go beside it
 * take no room from anyone. Null until something is known: a disk that is full of other files says nothing, nor does a file system without sizes.
 */
export function roomOnDisk(look: () => DiskUse): () => number | null {
  let most: number | null = null
  return () => {
    const { total, free, taken } = look()
    const isFullOfOthers = free < total * full && total - free - taken > taken
    if (total > 0 && !isFullOfOthers) most = Math.max(most ?? 0, taken + free)
    return most
  }
}

/** What the disk of a database says now. */
export function diskUse(folder: string, database: string): DiskUse {
  try {
    const { bavail, bsize, blocks } = statfsSync(folder)
    return { total: blocks * bsize, free: bavail * bsize, taken: sizeOf(database) + sizeOf(`${database}-wal`) }
  } catch {
    // A folder that is gone is reported by those who write to it.
    return { total: 0, free: 0, taken: 0 }
  }
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}
