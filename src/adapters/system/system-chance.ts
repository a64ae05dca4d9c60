import { randomFillSync } from "node:crypto"
import type { Chance } from "../../ports/chance.ts"

const idBytes = 16
/** Fetched for many ids at a time: a call costs more than the bytes. */
const pool = Buffer.alloc(idBytes * 256)
let used = pool.length

export const systemChance: Chance = {
  id() {
    if (used === pool.length) {
      randomFillSync(pool)
      used = 0
    }
    used += idBytes
    return pool.toString("base64url", used - idBytes, used)
  },
  fraction: () => Math.random(),
}
