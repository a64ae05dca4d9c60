import { randomBytes } from "node:crypto"
import type { Chance } from "../../run/ports.ts"

export const systemChance: Chance = {
  id: () => randomBytes(16).toString("base64url"),
  fraction: () => Math.random(),
}
