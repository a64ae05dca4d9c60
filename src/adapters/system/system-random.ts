import { randomFillSync } from "node:crypto"
import type { RandomSource } from "../../ports/random-source.ts"

const idBytes = 16
/** Fetched for many ids at a time: a call costs more than the bytes. */
const pool = Buffer.alloc(idBytes * 256)
let used = pool.length

// Ids that are made within 16 ms begin alike: what is made together stands together in a store's index, and a transaction changes
// one of its pages, not one for each id. The beginning repeats after three days.
const sliceMs = 16
const beginning = Buffer.alloc(3)
let slice = -1
let written = ""

export const systemRandom: RandomSource = {
  id() {
    if (used === pool.length) {
      randomFillSync(pool)
      used = 0
    }
    const now = Math.floor(Date.now() / sliceMs) % 2 ** 24
    if (now !== slice) {
      slice = now
      beginning.writeUIntBE(now, 0, 3)
      // A command line would take an id that begins with a dash for an option.
      written = beginning.toString("base64url").replace(/^-/, "0")
    }
    used += idBytes
    return written + pool.toString("base64url", used - idBytes, used)
  },
  fraction: () => Math.random(),
}
