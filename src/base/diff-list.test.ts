import assert from "node:assert/strict"
import { test } from "node:test"
import { fc } from "../../test/support/fast-check.ts"
import { diffList } from "./diff-list.ts"

test("a difference leads from one list to the other, and keeps what they share", () => {
  const items = fc.array(fc.constantFrom("a", "b", "c"), { maxLength: 30 })
  fc.assert(
    fc.property(items, items, (before, after) => {
      const found = diffList(before, after)
      const left = found.filter(({ change }) => change !== "added").map(({ item }) => item)
      const right = found.filter(({ change }) => change !== "removed").map(({ item }) => item)
      assert.deepEqual(left, before)
      assert.deepEqual(right, after)
    }),
  )
  const changes = diffList("abcd".split(""), "abxd".split("")).map(({ change, item }) => `${change} ${item}`)
  assert.deepEqual(changes, ["same a", "same b", "removed c", "added x", "same d"])
})
