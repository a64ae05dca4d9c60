import assert from "node:assert/strict"
import { test } from "node:test"
import { fc } from "../../test/support/fast-check.ts"
import { applyEdits } from "../editor/edit.ts"
import { differingPiece } from "./differing-piece.ts"

test("the edit makes one text the other, whatever they are", () => {
  const text = fc.array(fc.constantFrom("a\n", "b\n", "\n", "\r\n", "a", "😀")).map((parts) => parts.join(""))
  fc.assert(
    fc.property(text, text, (before, after) => {
      const edit = differingPiece(before, after)
      assert.equal(edit === undefined, before === after)
      if (edit !== undefined) assert.equal(applyEdits(before, [edit]), after)
    }),
  )
})

test("lines that stay the same at both ends are left out", () => {
  assert.deepEqual(differingPiece("a\nb\nc\nd\n", "a\nb\nx\nd\n"), { span: { start: 4, end: 6 }, text: "x\n" })
  assert.deepEqual(differingPiece("a\nb\n", "a\nx\nb\n"), { span: { start: 2, end: 2 }, text: "x\n" })
  assert.deepEqual(differingPiece("a\nb", "a\nb\n"), { span: { start: 2, end: 3 }, text: "b\n" })
})
