import assert from "node:assert/strict"
import { test } from "node:test"
import { assertLinear } from "../../test/support/cpu-time.ts"
import { compile } from "../compile.ts"
import type { Edit } from "./edit.ts"
import { applyEdits, offsetsAfter } from "./edit.ts"
import { rename } from "./rename.ts"

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

test("a rename does not take the product of its places and the mistakes in the text", async () => {
  await assertLinear(
    (size) => {
      const uses = Array.from({ length: size }, (_, at) => `x${at}: input.name`)
      const mistakes = Array.from({ length: size }, (_, at) => `y${at}: agent.unknown${at}.t`)
      const text = `input { name: string }\noutput {\n${[...uses, ...mistakes].join("\n")}\n}\n`
      const renamed = rename(compile(text).program, text.indexOf("name"), "title")
      assert.equal("edits" in renamed && renamed.edits.length, size + 1)
    },
    250,
    4_000,
  )
})
