import { modelTokens } from "../../base/limits.ts"

/** A number of tokens as a backend reports it; 0 for what cannot be one. */
export function tokenCount(value: unknown): number {
  return typeof value === "number" && value > 0 && value <= modelTokens ? Math.floor(value) : 0
}
