import assert from "node:assert/strict"
import { test } from "node:test"

import { fc } from "../../test/support/fast-check.ts"
import { cases } from "../../test/support/strength.ts"

import { editDistance } from "./edit-distance.ts"

const rows: readonly [string, string, number][] = [
  ["", "", 0],
  ["", "abc", 3],
  ["abc", "abc", 0],
  ["abc", "abd", 1],
  ["abc", "ab", 1],
  ["abc", "xabc", 1],
  ["abc", "acb", 1],
  ["summary", "sumary", 1],
  ["summary", "smumary", 1],
  ["summary", "smuamry", 2],
  ["kitten", "sitting", 3],
  ["abcd", "badc", 2],
  ["ca", "abc", 3],
]

for (const [from, to, distance] of rows) {
  test(`${from} → ${to}: ${distance}`, () => {
    assert.equal(editDistance(from, to, 10), distance)
    assert.equal(editDistance(to, from, 10), distance)
  })
}

/** The textbook table, whole and without limits. */
function reference(from: string, to: string): number {
  const table: number[][] = Array.from({ length: from.length + 1 }, (_, row) => [row])
  const at = (row: number, column: number): number => table[row]?.[column] ?? Infinity
  for (let column = 0; column <= to.length; column++) (table[0] ??= [])[column] = column
  for (let row = 1; row <= from.length; row++) {
    for (let column = 1; column <= to.length; column++) {
      const same = from[row - 1] === to[column - 1]
      let cost = Math.min(at(row - 1, column - 1) + (same ? 0 : 1), at(row - 1, column) + 1, at(row, column - 1) + 1)
      if (row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1]) {
        cost = Math.min(cost, at(row - 2, column - 2) + 1)
      }
      ;(table[row] ??= [])[column] = cost
    }
  }
  return at(from.length, to.length)
}

test("agrees with the textbook for every limit", () => {
  const word = fc.string({ unit: fc.constantFrom("a", "b", "c"), maxLength: 9 })
  fc.assert(
    fc.property(word, word, fc.integer({ min: 0, max: 6 }), (from, to, limit) => {
      assert.equal(editDistance(from, to, limit), Math.min(reference(from, to), limit + 1))
    }),
    { numRuns: cases(3000) },
  )
})
