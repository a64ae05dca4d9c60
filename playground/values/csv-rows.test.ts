import assert from "node:assert/strict"
import { test } from "node:test"
import { csvRows } from "./csv-rows.ts"

test("rows of a CSV text", () => {
  const cases: [string, string[][] | null][] = [
    ["", []],
    [
      "a,b\r\n1,2\r\n",
      [
        ["a", "b"],
        ["1", "2"],
      ],
    ],
    [
      "a,b\n1,",
      [
        ["a", "b"],
        ["1", ""],
      ],
    ],
    [
      '"a, ""b""","c\nd"\n,',
      [
        ['a, "b"', "c\nd"],
        ["", ""],
      ],
    ],
    ["\uFEFFa\n\nb", [["a"], [""], ["b"]]],
    ['"open', null],
    ['"a"b', null],
    ["a\rb", [["a"], ["b"]]],
  ]
  for (const [text, rows] of cases) assert.deepEqual(csvRows(text, 10), rows, JSON.stringify(text))
  assert.deepEqual(csvRows("a\nb\nc", 2), [["a"], ["b"]])
})
