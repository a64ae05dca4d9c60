import assert from "node:assert/strict"
import { test } from "node:test"
import { fieldsWith } from "./fields-with.ts"

const output = {
  report: { text: "The wall clock jumps twice a year. Buy bread." },
  list: ["bread", "Buy bread"],
  count: 42,
}

test("fields that are the phrase come first, and the phrase has its place in the text", () => {
  assert.deepEqual(fieldsWith(output, "Buy bread"), [
    { path: "output.list[1]", part: { from: 0, to: 9 } },
    { path: "output.report.text", part: { from: 35, to: 44 } },
  ])
})

test("words that are written otherwise are found, without their place", () => {
  assert.deepEqual(fieldsWith(output, "the wall CLOCK\njumps"), [{ path: "output.report.text" }])
  assert.deepEqual(fieldsWith(output, "42"), [{ path: "output.count", part: { from: 0, to: 2 } }])
})

test("words of several fields, and signs alone, are in none", () => {
  assert.deepEqual(fieldsWith(output, "year bread 42"), [])
  assert.deepEqual(fieldsWith(output, "…"), [])
})
