import assert from "node:assert/strict"
import { test } from "node:test"
import { placeFigures } from "./place-figures.ts"

const texts = ["1.90 s · 104 tok", "1.90 s"]

test("figures stand after the bar, or before it, all of them where there is room", () => {
  assert.deepEqual(placeFigures(texts, 0, 40, 400), {
    text: texts[0],
    style: { left: "calc(40% + 6px)", right: "auto" },
  })
  assert.deepEqual(placeFigures(texts, 60, 100, 400), {
    text: texts[0],
    style: { left: "auto", right: "calc(40% + 6px)" },
  })
})

test("a shorter text stands beside the bar where the whole one would cover it", () => {
  assert.deepEqual(placeFigures(texts, 51, 100, 190), {
    text: texts[1],
    style: { left: "auto", right: "calc(49% + 6px)" },
  })
})

test("a bar that leaves no room has the shorter text over its end", () => {
  assert.deepEqual(placeFigures(texts, 0, 100, 190), { text: texts[1], style: { left: "auto", right: "0" } })
})
