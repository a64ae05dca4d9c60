import type { JsonObject } from "../../base/json-value.ts"
import { hostedType } from "../../syntax/property-table.ts"

/** Uses of hosted tools that limits and budgets reserve for a call, by type: as many as an entry allows, else one. */
export function expectedUses(entries: readonly JsonObject[]): Readonly<Record<string, number>> {
  const uses: Record<string, number> = {}
  for (const { type, max_uses } of entries) {
    const known = typeof type === "string" ? hostedType(type) : undefined
    if (known === undefined) continue
    uses[known] = (uses[known] ?? 0) + (typeof max_uses === "number" && max_uses >= 1 ? max_uses : 1)
  }
  return uses
}
