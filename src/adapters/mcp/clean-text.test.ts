import assert from "node:assert/strict"
import { test } from "node:test"
import { cleanLine, cleanText } from "./clean-text.ts"

test("what cannot be seen is taken out; lines, tabs, emoji and other scripts stay", () => {
  assert.equal(cleanText(" a\u0000b\u001b[2Jc\u202ed\u{e0061}\u2066e \r\n\tf\u200d ", 100), "ab[2Jcde \n\tf")
  assert.equal(cleanText("שלום 👩‍👩‍👧 日本", 100), "שלום 👩‍👩‍👧 日本")
  assert.equal(cleanText("half \ud800", 100), "half \ufffd")
})

test("one line, cut", () => {
  assert.equal(cleanLine("a\n\n b\tc"), "a b c")
  assert.equal(cleanLine("x".repeat(50), 10), "xxxxxxxxx…")
})
