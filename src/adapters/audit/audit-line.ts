import { createHash } from "node:crypto"
import { jsonOf } from "../../base/bounded-json.ts"
import { isJsonObject } from "../../base/is-json-object.ts"
import type { JsonObject } from "../../base/json-value.ts"

/** `prev` of the first line of a file. */
export const firstPrev = "0".repeat(64)

/** More than any line of ours has. */
export const longestLine = 1024 * 1024

/** `prev` of the line after this one: the SHA-256 of its bytes without the line end, in hex. */
export function hashOf(line: Uint8Array | string): string {
  return createHash("sha256").update(line).digest("hex")
}

/** A line of an audit file; undefined for what is none. */
export function readLine(line: string): (JsonObject & { readonly prev: string }) | undefined {
  const value = jsonOf(line)
  if (!isJsonObject(value) || typeof value["act"] !== "string" || typeof value["prev"] !== "string") return undefined
  return { ...value, prev: value["prev"] }
}
