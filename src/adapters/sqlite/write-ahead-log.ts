import { closeSync, existsSync, fstatSync, openSync, readSync } from "node:fs"

// SQLite's own format (https://sqlite.org/fileformat2.html#walformat). SQLite reads a write-ahead log up to the first frame
// whose checksum is wrong and takes what follows for the rest of an older log. So damage in the middle looks like a shorter
// log: what came after it is lost silently. Here the frames after it are looked at, too.

const headerBytes = 32
const frameHeaderBytes = 24

export interface LogFileState {
  /** Transactions that SQLite will find. */
  readonly committed: number
  /** Transactions of the same log behind the first frame that is damaged: SQLite will drop them. */
  readonly lost: number
}

/** Reads a `-wal` file that no process writes to; null when it is missing or empty. */
export function readLogFile(path: string): LogFileState | null {
  if (!existsSync(path)) return null
  const file = openSync(path, "r")
  try {
    const { size } = fstatSync(file)
    if (size < headerBytes) return null
    const header = Buffer.alloc(headerBytes)
    readSync(file, header, 0, headerBytes, 0)
    const magic = header.readUInt32BE(0)
    if (magic !== 0x377f0682 && magic !== 0x377f0683) return { committed: 0, lost: size > headerBytes ? 1 : 0 }
    const bigEndian = magic === 0x377f0683
    const pageBytes = header.readUInt32BE(8)
    let sums = checksum(header.subarray(0, 24), bigEndian, [0, 0])
    let whole = sums[0] === header.readUInt32BE(24) && sums[1] === header.readUInt32BE(28)
    const frame = Buffer.alloc(frameHeaderBytes + pageBytes)
    let committed = 0
    let lost = 0
    for (let at = headerBytes; at + frame.length <= size; at += frame.length) {
      readSync(file, frame, 0, frame.length, at)
      // Frames of an older log have other salts.
      const current = frame.compare(header, 16, 24, 8, 16) === 0
      if (!current && whole) break
      const commits = current && frame.readUInt32BE(4) !== 0
      if (whole) {
        sums = checksum(frame.subarray(0, 8), bigEndian, sums)
        sums = checksum(frame.subarray(frameHeaderBytes), bigEndian, sums)
        whole = sums[0] === frame.readUInt32BE(16) && sums[1] === frame.readUInt32BE(20)
      }
      if (commits && whole) committed++
      else if (commits) lost++
    }
    return { committed, lost }
  } finally {
    closeSync(file)
  }
}

function checksum(data: Buffer, bigEndian: boolean, [first, second]: readonly [number, number]): [number, number] {
  let [a, b] = [first, second]
  for (let at = 0; at < data.length; at += 8) {
    a = (a + (bigEndian ? data.readUInt32BE(at) : data.readUInt32LE(at)) + b) >>> 0
    b = (b + (bigEndian ? data.readUInt32BE(at + 4) : data.readUInt32LE(at + 4)) + a) >>> 0
  }
  return [a, b]
}
