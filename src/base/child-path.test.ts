import assert from "node:assert/strict"
import { test } from "node:test"

import { childPath } from "./child-path.ts"

test("names, indexes and keys that are no names", () => {
  assert.equal(childPath("input", "files"), "input.files")
  assert.equal(childPath("input.files", 2), "input.files[2]")
  assert.equal(childPath("input", "X-Trace"), 'input["X-Trace"]')
  assert.equal(childPath("input", ""), 'input[""]')
  assert.equal(childPath("input", '"\n'), 'input["\\"\\n"]')
  assert.equal(childPath("", "files"), "files")
  assert.equal(childPath("", 0), "[0]")
})

test("a key as long as a book is cut", () => {
  assert.ok(childPath("input", "x".repeat(10_000)).length < 80)
  assert.ok(childPath("input", "-".repeat(10_000)).length < 80)
})
