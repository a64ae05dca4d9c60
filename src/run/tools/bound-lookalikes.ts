import type { JsonObject } from "../../base/json-value.ts"

/**
 * The arguments that look like a bound one and are not declared: a server that reads names without regard to case, width or
 * characters that cannot be seen would take them for it.
 */
export function boundLookalikes(
  given: JsonObject,
  bound: JsonObject,
  declared: ReadonlySet<string>,
): readonly string[] {
  const names = new Set(Object.keys(bound).map(folded))
  if (names.size === 0) return []
  return Object.keys(given).filter((name) => !declared.has(name) && names.has(folded(name)))
}

/** One spelling for all that look the same: compatibility forms, case, and nothing but letters and digits. */
function folded(name: string): string {
  const plain = name.normalize("NFKC").toUpperCase().toLowerCase().normalize("NFKD")
  const letters = plain.replaceAll(/[^\p{L}\p{N}]/gu, "")
  return letters === "" ? plain : letters
}
