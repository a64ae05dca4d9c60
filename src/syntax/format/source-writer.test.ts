import assert from "node:assert/strict"
import { test } from "node:test"
import { SourceWriter } from "./source-writer.ts"

test("what is written as it stands in the source is one stretch of it", () => {
  const source = "ab, c\n  d"
  const writer = new SourceWriter(source)
  assert.equal(writer.isEmpty, true)
  writer.copy(0, 2)
  writer.put(",")
  writer.put(" ")
  writer.copy(4, 5)
  assert.equal(writer.column, 5)
  writer.putLines("\n  ", 2)
  writer.copy(8, 9)
  assert.equal(writer.column, 3)
  assert.equal(writer.text(), source)
})

test("what is written otherwise comes between", () => {
  const writer = new SourceWriter("a  b ,c")
  writer.copy(0, 1)
  writer.put(",")
  writer.put(" ")
  writer.copy(3, 4)
  writer.putLines("\n    ", 4)
  writer.put("| ")
  writer.copy(6, 7)
  assert.equal(writer.column, 7)
  assert.equal(writer.isEmpty, false)
  assert.equal(writer.text(), "a, b\n    | c")
})

test("stretches may be left out", () => {
  const writer = new SourceWriter("\n\nabc")
  writer.copy(2, 3)
  writer.copy(4, 5)
  assert.equal(writer.text(), "ac")
})
