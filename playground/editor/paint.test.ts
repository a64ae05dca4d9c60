import assert from "node:assert/strict"
import { test } from "node:test"
import { paint } from "./paint.ts"

function painted(text: string): string[] {
  return paint(text).map(({ from, to, as }) => `${as} ${text.slice(from, to)}`)
}

test("strings, interpolations, numbers and comments", () => {
  assert.deepEqual(painted('/// doc\n// note\na: "x {{ b }} y" c: -1_000'), [
    "doc /// doc",
    "comment // note",
    'string "x ',
    "escape {{",
    "escape }}",
    'string  y"',
    "number -1_000",
  ])
})

test("what is never closed is painted as far as it goes, in order and without overlaps", () => {
  for (const text of ['a: "x {{ b', 'a: """\n x {{ y', "/* x", '"{{ "{{ "', "}}", '"\\{\\{ {{']) {
    let last = 0
    for (const { from, to } of paint(text)) {
      assert.ok(from >= last && to > from && to <= text.length, text)
      last = to
    }
  }
})
