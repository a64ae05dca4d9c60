import assert from "node:assert/strict"

import type { Tree } from "../../src/syntax/tree.ts"

/** Fails unless both trees mean the same: all of them but where their tokens are and how they are punctuated. */
export function assertSameTree(actual: Tree, expected: Tree, message?: string): void {
  assert.deepEqual(meaning(actual.declarations), meaning(expected.declarations), message)
}

/** Where a node is, and `property: { … }` for `property { … }`. */
const ignored = new Set(["start", "end", "colon"])

function meaning(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(meaning)
  if (typeof value !== "object" || value === null) return value
  if ("comments" in value && "afterBreak" in value) return "a token"
  const entries = Object.entries(value).filter(([key]) => !ignored.has(key))
  return Object.fromEntries(entries.map(([key, part]) => [key, meaning(part)]))
}
