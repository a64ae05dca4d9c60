import assert from "node:assert/strict"
import { test } from "node:test"
import { tableLines } from "./table.ts"
import { plain } from "./terminal.ts"

test("columns are as wide as their longest cell, and empty ones are left out", () => {
  const lines = tableLines(
    ["RUN", "CALLER", "STATUS"],
    [
      ["a", null, "completed"],
      ["表", "", "failed"],
    ],
    plain,
  )
  assert.deepEqual(lines, ["RUN  STATUS", "a    completed", "表   failed"])
})

test("what others wrote cannot move the cursor", () => {
  const [, line] = tableLines(["NAME"], [["a\u001b[2Jb"]], plain)
  assert.ok(line !== undefined && !line.includes("\u001b"))
})
