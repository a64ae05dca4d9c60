import assert from "node:assert/strict"
import { test } from "node:test"
import { cellWidth } from "./cell-width.ts"

test("cells", () => {
  const widths: Record<string, number> = {
    "": 0,
    abc: 3,
    ä: 1,
    "e\u0301": 1,
    日本: 4,
    "😀": 2,
    "👩‍👩‍👧": 2,
    "…": 1,
    "\u200b": 0,
  }
  for (const [text, width] of Object.entries(widths)) assert.equal(cellWidth(text), width, JSON.stringify(text))
})
