import assert from "node:assert/strict"
import { test } from "node:test"
import { fc } from "../../../../test/support/fast-check.ts"
import { cases } from "../../../../test/support/strength.ts"
import { evaluateText, valueOfText } from "../../../../test/support/evaluate-text.ts"

const header = "input { s: string, n: integer, o: integer }"
const pieces = (s: string, n: number): string[] =>
  valueOfText("pieces(input.s, input.n)", header, { s, n, o: 0 }) as string[]
const chunks = (s: string, n: number, o: number): string[] =>
  valueOfText("chunks(input.s, input.n, input.o)", header, { s, n, o }) as string[]

const parts = fc.array(
  fc.constantFrom("a", "word", ". ", "? ", " ", "\n", "\n\n", "\r\n", "\r\n\r\n", "😀", "。", "\t", '." '),
  { maxLength: 30 },
)

test("pieces lose nothing, fit, and end at the best place that fits", () => {
  fc.assert(
    fc.property(parts, fc.integer({ min: 1, max: 12 }), (all, size) => {
      const text = all.join("")
      const made = pieces(text, size)
      assert.equal(made.join(""), text)
      for (const [index, piece] of made.entries()) {
        assert.ok(piece !== "" && Array.from(piece).length <= size, JSON.stringify(made))
        if (index === made.length - 1 || /\n[ \t\r]*\n$/.test(piece)) continue
        // No better place was left out: what follows the cut, up to the size, has none.
        const rest = Array.from(piece + made.slice(index + 1).join(""))
          .slice(0, size)
          .join("")
          .slice(piece.length)
        if (/[\n\r]$/.test(piece)) continue
        assert.doesNotMatch(rest.replace(/\r$/, ""), /\n/, JSON.stringify([made, index]))
      }
    }),
    { numRuns: cases(1500) },
  )
})

test("a piece ends with the blank line, line end, sentence end or blank", () => {
  assert.deepEqual(pieces("One. Two.\n\nThree\nfour five", 14), ["One. Two.\n\n", "Three\n", "four five"])
  assert.deepEqual(pieces("One two. Three four", 12), ["One two. ", "Three four"])
  assert.deepEqual(pieces('He said "Go!" and left', 16), ['He said "Go!" ', "and left"])
  assert.deepEqual(pieces("abcdefgh", 3), ["abc", "def", "gh"])
  assert.deepEqual(pieces("ab\r\ncd", 3), ["ab", "\r\n", "cd"])
  assert.deepEqual(pieces("", 3), [])
})

test("chunks have the size, overlap, and none lies inside the one before", () => {
  assert.deepEqual(chunks("abcdef", 4, 2), ["abcd", "cdef"])
  assert.deepEqual(chunks("😀bc", 2, 1), ["😀b", "bc"])
  assert.deepEqual(chunks("", 2, 0), [])
  fc.assert(
    fc.property(parts, fc.integer({ min: 1, max: 9 }), fc.nat(8), (all, size, some) => {
      const overlap = some % size
      const text = all.join("")
      const made = chunks(text, size, overlap).map((one) => Array.from(one))
      assert.equal(made.map((one, index) => one.slice(index === 0 ? 0 : overlap).join("")).join(""), text)
      for (const [index, one] of made.entries()) {
        assert.ok(one.length === size || index === made.length - 1)
        assert.ok(index === 0 || one.length > overlap, JSON.stringify(made))
      }
    }),
    { numRuns: cases(500) },
  )
})

for (const [text, message] of [
  ["chunks(input.s, 2, 2)", "overlap"],
  ["chunks(input.s, 2, -1)", "overlap"],
  ["chunks(input.s, 0)", "size"],
  ["pieces(input.s, 0)", "size"],
] as const) {
  test(`${text} is an evaluation_error`, () => {
    const found = evaluateText(text, header, { s: "abc", n: 0, o: 0 })
    assert.ok(
      found.kind === "error" && found.error === "evaluation_error" && found.message.includes(message),
      JSON.stringify(found),
    )
  })
}

test("8 MiB are cut into pieces and chunks, and a limit says its number and the expression", () => {
  const s = "Lorem ipsum dolor sit amet.\n".repeat((8 * 1024 * 1024) / 28)
  assert.equal(pieces(s, 4000).join(""), s)
  assert.equal(pieces("a".repeat(1_000_000), 900_000).length, 2)
  assert.ok(chunks(s, 4000, 200).length > 2000)
  const found = evaluateText("chunks(input.s, 4000, 3999)", header, { s, n: 0, o: 0 })
  assert.ok(found.kind === "error" && found.error === "payload_too_large", JSON.stringify(found).slice(0, 200))
  assert.match(found.message, /\d{8}.*\(in chunks\(input\.s, 4000, 3999\)\)$/)
})

for (const [text, value] of [
  ['format_date("2026-11-18T23:30:05Z", "EEEE, dd MMMM yyyy HH:mm:ss")', "Wednesday, 18 November 2026 23:30:05"],
  ['format_date("2026-11-18T23:30:05Z", "yyyy-MM-dd HH:mm EEE", "Europe/Berlin")', "2026-11-19 00:30 Thu"],
  ['format_date("2026-07-01T12:00:00-04:00", "HH:mm MMM", "America/New_York")', "12:00 Jul"],
  ['date_of("2026-11-18T23:30:00Z", "Asia/Tokyo")', "2026-11-19"],
  ['date_of("2026-11-18T23:30:00-05:00")', "2026-11-19"],
  ['add_seconds("2026-12-31T23:59:30.5+01:00", 45)', "2027-01-01T00:00:15.500+01:00"],
  ['add_seconds("2026-01-01", -1)', "2025-12-31T23:59:59Z"],
  ['add_seconds("2026-01-01T00:00:00Z", 0.25)', "2026-01-01T00:00:00.250Z"],
  ['seconds_between("2026-01-01T00:00:00+01:00", "2026-01-01T00:00:00.5Z")', 3600.5],
  ['from_base64("****")', null],
  ['from_base64("/w==")', null],
  ['from_base64("YQ")', null],
  ['from_base64(base64("é\u{1F600}"))', "é\u{1F600}"],
  ['find("a b", "x")', null],
  ['find("ab", "(x)?b")', null],
  ['find_all("aXbX", "([a-z])X")', ["a", "b"]],
  ['find_all("ab", "x*")', ["", "", ""]],
  ['replace_all("a1b2", "([a-z])([0-9])", "$2$1$3")', "1a$32b$3"],
  ['replace_all("abc", "x*", "-")', "-a-b-c-"],
  ['matches("Straße", "(?i)STRASSE|straße")', true],
  [
    'group_by([{ k: "b", n: 1 }, { k: "a", n: 2 }, { k: "b", n: 3 }], "k")',
    [
      {
        key: "b",
        items: [
          { k: "b", n: 1 },
          { k: "b", n: 3 },
        ],
      },
      { key: "a", items: [{ k: "a", n: 2 }] },
    ],
  ],
  [
    'count_by([{ k: true }, { k: false }, { k: true }], "k")',
    [
      { key: true, count: 2 },
      { key: false, count: 1 },
    ],
  ],
] as const) {
  // prettier-ignore
  test(`${text} is ${JSON.stringify(value)}`, () => assert.deepEqual(valueOfText(text), value))
}
