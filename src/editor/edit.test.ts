import assert from "node:assert/strict"
import { test } from "node:test"
import type { Edit } from "./edit.ts"
import { applyEdits, offsetsAfter } from "./edit.ts"

test("offsets after edits", () => {
  const edits: Edit[] = [
    { span: { start: 6, end: 8 }, text: "xyz" },
    { span: { start: 2, end: 2 }, text: "++" },
  ]
  assert.equal(applyEdits("abcdefghij", edits), "ab++cdefxyzij")
  const after = offsetsAfter(edits)
  // At an insertion an offset stays before it; within a replaced piece it moves to the start of that.
  assert.deepEqual([0, 2, 3, 6, 7, 8, 10].map(after), [0, 2, 5, 8, 8, 11, 13])
  assert.equal(offsetsAfter([])(7), 7)
})

test("each offset looks at a few of the edits, however many there are", () => {
  let looked = 0
  const edits = Array.from({ length: 1_000 }, (_, at): Edit => {
    const span = { start: at * 10, end: at * 10 + 4 }
    return {
      text: "longer",
      get span() {
        looked++
        return span
      },
    }
  })
  const after = offsetsAfter(edits)
  for (let at = 0; at < 1_000; at++) assert.equal(after(at * 10), at * 12)
  assert.ok(looked < 100_000, `${looked} looks`)
})
