import assert from "node:assert/strict"
import { test } from "node:test"
import { readCase, withFinalBreak, writeCase } from "./case-file.ts"

test("source and expectation are split at the separator line", () => {
  assert.deepEqual(readCase("a\r\nb\n=== expected ===\nok\n"), { source: "a\r\nb\n", expected: "ok\n" })
  assert.deepEqual(readCase("=== expected ===\nok\n"), { source: "", expected: "ok\n" })
  assert.deepEqual(readCase("a\n=== expected ===\n"), { source: "a\n", expected: "" })
})

test("the separator counts only as a whole line, and only the first", () => {
  const source = "// === expected ===\nsay === expected ===\n"
  assert.deepEqual(readCase(`${source}=== expected ===\nx\n=== expected ===\n`), {
    source,
    expected: "x\n=== expected ===\n",
  })
})

test("a new case has no expectation, and gets one", () => {
  assert.deepEqual(readCase("input { }\n"), { source: "input { }\n", expected: undefined })
  assert.equal(writeCase("input { }", "ok"), "input { }\n=== expected ===\nok\n")
  assert.equal(writeCase("", "ok\n"), "=== expected ===\nok\n")
})

test("what is written is what is read", () => {
  for (const source of ["", "\n", "a\n", "a\r\n\r\n", "\uFEFFa\n"]) {
    for (const expected of ["", "x", "x\n", "x\n\n"]) {
      assert.deepEqual(readCase(writeCase(source, expected)), { source, expected: withFinalBreak(expected) })
    }
  }
})
