import assert from "node:assert/strict"
import { test } from "node:test"
import { fc } from "../../test/support/fast-check.ts"
import { LineMap } from "./line-map.ts"

test("LF, CRLF and a lone CR each end a line", () => {
  const lines = new LineMap("a\nb\r\nc\rd\r\n")
  assert.equal(lines.lineCount, 5)
  assert.deepEqual(
    [1, 2, 3, 4, 5, 6].map((line) => lines.lineStart(line)),
    [0, 2, 5, 7, 10, 10],
  )
})

test("lines and columns count from 1, columns in UTF-16 units", () => {
  const lines = new LineMap("ab\n😀c")
  assert.deepEqual(lines.position(0), { line: 1, column: 1, offset: 0 })
  assert.deepEqual(lines.position(2), { line: 1, column: 3, offset: 2 })
  assert.deepEqual(lines.position(3), { line: 2, column: 1, offset: 3 })
  assert.deepEqual(lines.position(5), { line: 2, column: 3, offset: 5 })
  assert.deepEqual(lines.range({ start: 1, end: 6 }), {
    start: { line: 1, column: 2, offset: 1 },
    end: { line: 2, column: 4, offset: 6 },
  })
})

test("the line break itself belongs to the line that it ends", () => {
  const lines = new LineMap("a\r\nb")
  assert.deepEqual(lines.position(1), { line: 1, column: 2, offset: 1 })
  assert.deepEqual(lines.position(2), { line: 1, column: 3, offset: 2 })
  assert.deepEqual(lines.position(3), { line: 2, column: 1, offset: 3 })
})

test("offsets outside of the text are those of its ends", () => {
  const lines = new LineMap("a\nb")
  assert.deepEqual(lines.position(-5), { line: 1, column: 1, offset: 0 })
  assert.deepEqual(lines.position(99), { line: 2, column: 2, offset: 3 })
  assert.deepEqual(new LineMap("").position(0), { line: 1, column: 1, offset: 0 })
})

test("a byte-order mark counts as one column, other separators of lines as none", () => {
  assert.deepEqual(new LineMap("\uFEFFa").position(1), { line: 1, column: 2, offset: 1 })
  assert.equal(new LineMap("a\u2028b\u0085c\fd").lineCount, 1)
})

test("a position leads back to its offset", () => {
  const text = fc.array(fc.constantFrom("a", "\n", "\r", "\r\n", "😀"), { maxLength: 30 }).map((all) => all.join(""))
  fc.assert(
    fc.property(text, (source) => {
      const lines = new LineMap(source)
      for (let offset = 0; offset <= source.length; offset++) {
        const { line, column } = lines.position(offset)
        assert.equal(lines.lineStart(line) + column - 1, offset)
        assert.ok(line >= 1 && line <= lines.lineCount && column >= 1)
      }
    }),
  )
})
