import assert from "node:assert/strict"
import { test } from "node:test"

import { cutText } from "./cut-text.ts"

test("keeps what fits", () => {
  assert.equal(cutText("", 5), "")
  assert.equal(cutText("12345", 5), "12345")
})

test("cuts what does not, to the length", () => {
  assert.equal(cutText("123456", 5), "1234…")
})

test("does not split a surrogate pair", () => {
  assert.equal(cutText("123😀56", 5), "123…")
  assert.equal(cutText("12😀456", 5), "12😀…")
  assert.ok(cutText("😀".repeat(30), 20).isWellFormed())
})
