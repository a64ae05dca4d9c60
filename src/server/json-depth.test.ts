import assert from "node:assert/strict"
import { test } from "node:test"
import { fc } from "../../test/support/fast-check.ts"
import { isDeeperThan } from "./json-depth.ts"

const isDeeper = (most: number, text: string): boolean => isDeeperThan(most, Buffer.from(text))

function depthOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0
  return 1 + Math.max(0, ...Object.values(value).map(depthOf))
}

test("brackets in strings do not count", () => {
  assert.equal(isDeeper(1, '["[[[{{{"]'), false)
  assert.equal(isDeeper(1, '{"a\\"[[":"\\\\","b":"]"}'), false)
  assert.equal(isDeeper(1, '{"a":"\\\\","b":[]}'), true)
})

test("the depth is that of the value", () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => {
      const depth = depthOf(value)
      for (const text of [JSON.stringify(value), JSON.stringify(value, null, 2)]) {
        assert.equal(isDeeper(depth, text), false)
        if (depth > 0) assert.equal(isDeeper(depth - 1, text), true)
      }
    }),
  )
})

test("broken text has an answer too", () => {
  for (const text of ['"', '"\\', "[[[[", "]]]]", '{"a', ""]) isDeeper(2, text)
  assert.equal(isDeeper(512, "[".repeat(5_000_000)), true)
})
