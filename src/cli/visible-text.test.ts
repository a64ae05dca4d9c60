import assert from "node:assert/strict"
import { test } from "node:test"
import { cellWidth, visibleText } from "./visible-text.ts"

test("what could drive a terminal is shown instead, one for one", () => {
  assert.equal(visibleText("a\u001b[31mb\u0000\u007f\u009b2J"), "a␛[31mb␀␡\ufffd2J")
  assert.equal(visibleText("x\u202ey\u2066z\u200f\ufeff"), "x\ufffdy\ufffdz\ufffd\ufffd")
  assert.equal(visibleText("\tif\r"), " if␍")
  assert.equal(visibleText("half \ud83d"), "half \ufffd")
})

test("ordinary text of any script stays", () => {
  for (const text of ["plain", "größer", "日本語", "שלום", "😀 👩‍👩‍👧", "e\u0301"]) assert.equal(visibleText(text), text)
})

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
