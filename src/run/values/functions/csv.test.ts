import assert from "node:assert/strict"
import { test } from "node:test"
import { fc } from "../../../../test/support/fast-check.ts"
import { cases } from "../../../../test/support/strength.ts"
import { evaluateText, valueOfText } from "../../../../test/support/evaluate-text.ts"

const csv = (rows: unknown): unknown => valueOfText("csv(input.rows)", "input { rows: [object] }", { rows } as never)
const parse = (s: string): unknown => valueOfText("parse_csv(input.s)", "input { s: string }", { s })

const cell = fc.array(fc.constantFrom("a", ",", '"', "\n", "\r\n", "\r", " ", "=", "😀", ""), { maxLength: 6 })
const names = fc.uniqueArray(fc.constantFrom("a", "b c", 'd"', "e,", "10", "2", ""), { minLength: 1, maxLength: 4 })

test("rows of texts come back as they were", () => {
  const tables = names.chain((header) =>
    fc.array(
      fc
        .array(cell, { minLength: header.length, maxLength: header.length })
        .map((cells) => Object.fromEntries(header.map((name, at) => [name, cells[at]?.join("") ?? ""]))),
      { maxLength: 5 },
    ),
  )
  fc.assert(
    fc.property(tables, (rows) => assert.deepEqual(parse(String(csv(rows))), rows)),
    { numRuns: cases(500) },
  )
})

test("csv writes a header, cells in quotes where they need them, and every line with CRLF", () => {
  const rows = [
    { id: 1, name: 'Bo "B", Inc.', note: "a\nb", ok: true, tags: ["x", "y"] },
    { id: 2.5, name: "=1+1", note: null, ok: false, tags: [] },
  ]
  const lines = ["id,name,note,ok,tags", '1,"Bo ""B"", Inc.","a\nb",true,"[""x"",""y""]"', "2.5,=1+1,,false,[]", ""]
  assert.equal(csv(rows), lines.join("\r\n"))
  assert.equal(csv([]), "")
  assert.equal(csv([{ a: null }]), 'a\r\n""\r\n')
  assert.equal(
    csv([
      { a: 1, b: 2 },
      { b: 3, a: 4 },
    ]),
    "a,b\r\n1,2\r\n4,3\r\n",
  )
})

test("parse_csv takes a byte order mark, all ends of lines, and skips empty lines", () => {
  const rows = [
    { a: "1", b: "" },
    { a: "x\r\ny", b: 'q"' },
  ]
  assert.deepEqual(parse('\uFEFFa,b\r\n1,\n\n"x\r\ny","q"""\r\r'), rows)
  assert.deepEqual(parse(""), [])
  assert.deepEqual(parse("a,b\n"), [])
  assert.deepEqual(parse('a\n5" wide'), [{ a: '5" wide' }])
  assert.deepEqual(Object.keys((parse("b,10,2\n1,2,3") as object[])[0] ?? {}), ["b", "10", "2"])
})

const mistakes: readonly (readonly [text: string, message: string])[] = [
  ['parse_csv("a,b\\n1\\n")', "line 2 has 1 cell, and the header has 2 names"],
  ['parse_csv("a,b\\n\\"x\\ny\\",2\\n1,2,3\\n")', "line 4 has 3 cells, and the header has 2 names"],
  ['parse_csv("a,b,a\\n")', 'the header has "a" twice'],
  ['parse_csv("__proto__\\n1")', "no field may have the name __proto__"],
  ['parse_csv("a\\n\\"x\\" y")', "line 2 has text after the closing quote of a cell"],
  ['parse_csv("a\\n\\n\\"x\\n")', "line 3 has a quote that nothing closes"],
  ["csv([{ a: 1 }, { b: 1 }])", 'row 2 has no field "a", which row 1 has'],
  ["csv([{ a: 1 }, { a: 1, b: 1 }])", 'row 2 has a field "b", which row 1 has not'],
  ["csv([{}])", "the rows have no fields"],
]
for (const [text, message] of mistakes) {
  test(`${text} is an evaluation_error: ${message}`, () => {
    const found = evaluateText(text, "input { s: string }", { s: "" })
    assert.ok(found.kind === "error" && found.error === "evaluation_error", JSON.stringify(found))
    assert.ok(found.message.endsWith(message), found.message)
  })
}

test("a table of 4 MiB is written and read; one that is too large is refused before it is whole", () => {
  const rows = Array.from({ length: 20_000 }, (_, at) => ({ at: String(at), text: `"${"x".repeat(180)}"` }))
  assert.deepEqual(parse(String(csv(rows))), rows)
  const found = evaluateText("csv(input.rows)", "input { rows: [object] }", {
    rows: Array.from({ length: 40 }, () => ({ text: '"'.repeat(1024 * 1024) })),
  })
  assert.ok(found.kind === "error" && found.error === "payload_too_large", JSON.stringify(found).slice(0, 200))
})
