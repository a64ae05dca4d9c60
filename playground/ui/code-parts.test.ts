import assert from "node:assert/strict"
import { test } from "node:test"
import { codeParts, withoutBackticks } from "./code-parts.ts"

test("code is what stands between two backticks; a backtick without a partner is text", () => {
  assert.deepEqual(codeParts("Move it to `secrets.key`"), ["Move it to ", "secrets.key", ""])
  assert.deepEqual(codeParts("no code"), ["no code"])
  assert.deepEqual(codeParts("one ` alone"), ["one ` alone"])
  assert.equal(withoutBackticks("Add `a` and `b`"), "Add a and b")
  assert.equal(withoutBackticks("one ` alone"), "one ` alone")
})
