import assert from "node:assert/strict"
import { test } from "node:test"

import { fc } from "../support/fast-check.ts"
import { cases } from "../support/strength.ts"

import { compareCodePoints } from "../../src/base/compare-code-points.ts"
import type { JsonValue } from "../../src/base/json-value.ts"
import { compile } from "../../src/compile.ts"
import { evaluate } from "../../src/run/values/evaluate.ts"
import { EvaluationWork } from "../../src/run/values/evaluation-work.ts"

// Random lists from lists, against an evaluation that is written without the evaluator's parts.

interface Row {
  readonly n: number
  readonly s: string
  readonly ok: boolean
  readonly inner: readonly number[]
}

const key = fc.oneof(
  fc.constantFrom(
    "",
    "a",
    "b",
    "aa",
    "\uFFFD",
    "\u{1F600}",
    "\u{1F600}a",
    "\uE000",
    "\u{10000}",
    "é",
    "\uD83D",
    "a\uDE00",
    "\uD83Da",
  ),
  fc.string({ unit: "binary", maxLength: 3 }),
)
const row: fc.Arbitrary<Row> = fc.record({
  n: fc.integer({ min: -3, max: 3 }),
  s: key,
  ok: fc.boolean(),
  inner: fc.array(fc.integer({ min: 0, max: 9 }), { maxLength: 4 }),
})

const conditions: Readonly<Record<string, (row: Row) => boolean>> = {
  "": () => true,
  "when ok": ({ ok }) => ok,
  "when !ok && n > 0": ({ ok, n }) => !ok && n > 0,
  "when inner contains 3": ({ inner }) => inner.includes(3),
}
const keys: Readonly<Record<string, ((row: Row) => number | readonly number[]) | null>> = {
  "": null,
  "by n": ({ n }) => n,
  "by n descending": ({ n }) => n,
  "by s": ({ s }) => pointsOf(s),
  "by s descending": ({ s }) => pointsOf(s),
  "by -n * 2": ({ n }) => -n * 2,
}
const values: Readonly<Record<string, (row: Row) => JsonValue>> = {
  s: ({ s }) => s,
  "{ a: n, b: [s] }": ({ n, s }) => ({ a: n, b: [s] }),
  "[i + n for i in inner when i > n by -i]": ({ inner, n }) =>
    insertionSorted(
      inner.filter((i) => i > n),
      (i) => -i,
      1,
    ).map((i) => i + n),
  '"{{ n }}: {{ s }}"': ({ n, s }) => `${n}: ${s}`,
}

function pointsOf(text: string): number[] {
  return Array.from(text, (point) => point.codePointAt(0) ?? 0)
}

function before(one: number | readonly number[], other: number | readonly number[]): boolean {
  if (typeof one === "number" || typeof other === "number") return Number(one) < Number(other)
  for (const [at, point] of one.entries()) {
    const next = other[at]
    if (next === undefined || next < point) return false
    if (point < next) return true
  }
  return one.length < other.length
}

/** Each goes behind the last one that does not come after it. */
function insertionSorted<T>(list: readonly T[], key: (item: T) => number | readonly number[], turn: 1 | -1): T[] {
  const found: T[] = []
  for (const item of list) {
    let at = found.length
    const isAfter = (other: T): boolean => (turn === 1 ? before(key(item), key(other)) : before(key(other), key(item)))
    for (let other = found[at - 1]; other !== undefined && isAfter(other); other = found[at - 1]) at--
    found.splice(at, 0, item)
  }
  return found
}

test("a list is filtered, then sorted, then made", () => {
  const pick = <T>(table: Readonly<Record<string, T>>) => fc.constantFrom(...Object.entries(table))
  fc.assert(
    fc.property(
      fc.array(row, { maxLength: 12 }),
      pick(conditions),
      pick(keys),
      pick(values),
      (rows, [when, keeps], [by, keyOf], [value, make]) => {
        const source = `input { rows: [{ n: integer, s: string, ok: boolean, inner: [integer] }] }
output { r: [${value} for { n, s, ok, inner } in input.rows ${when} ${by}] }`
        const kept = rows.filter(keeps)
        const ordered = keyOf === null ? kept : insertionSorted(kept, keyOf, by.endsWith("descending") ? -1 : 1)
        assert.deepEqual(resultOf(source, { rows: rows as unknown as JsonValue }), ordered.map(make))
      },
    ),
    { numRuns: cases(400) },
  )
})

test("numbers of every size are ordered, and equal ones keep their places", () => {
  const number = fc.oneof(
    fc.constantFrom(0, -0, 1, -1, 2 ** 38, -(2 ** 38), 2 ** 38 + 1, 2 ** 53 - 1, -(2 ** 53) + 1, 0.5, -1e300, 1e300),
    fc.integer({ min: -3, max: 3 }),
    fc.integer(),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
  )
  // Whole numbers of some size are sorted in another way than the others: lists of them come up, too.
  const list = fc.oneof(fc.array(number, { maxLength: 40 }), fc.array(fc.integer(), { maxLength: 40 }))
  fc.assert(
    fc.property(list, fc.boolean(), (numbers, descending) => {
      const source = `input { rows: [{ n: number, at: integer }] }
output { r: [row.at for row in input.rows by row.n ${descending ? "descending" : ""}] }`
      const rows = numbers.map((n, at) => ({ n, at }))
      const expected = insertionSorted(rows, ({ n }) => n, descending ? -1 : 1).map(({ at }) => at)
      assert.deepEqual(resultOf(source, { rows }), expected)
    }),
    { numRuns: cases(400) },
  )
  for (const count of [16_384, 16_385, 40_000]) {
    const rows = Array.from({ length: count }, (_, at) => ({ n: ((at * 7919) % 1000) - 500, at }))
    const source = `input { rows: [{ n: integer, at: integer }] }
output { r: [row.at for row in input.rows by row.n descending] }`
    const expected = rows.toSorted((a, b) => b.n - a.n).map(({ at }) => at)
    assert.deepEqual(resultOf(source, { rows }), expected, `${count} rows`)
  }
})

test("texts are ordered by their code points", () => {
  fc.assert(
    fc.property(key, key, (one, other) => {
      const expected = before(pointsOf(one), pointsOf(other)) ? -1 : before(pointsOf(other), pointsOf(one)) ? 1 : 0
      assert.equal(Math.sign(compareCodePoints(one, other)), expected)
    }),
    { numRuns: cases(2_000) },
  )
})

function resultOf(source: string, input: { [name: string]: JsonValue }): JsonValue {
  const { plan, diagnostics } = compile(source)
  const node = plan?.nodes.at(-1)
  const entry = node?.kind === "output" ? node.fields[0] : undefined
  assert.ok(entry !== undefined, diagnostics.map(({ message }) => message).join("\n"))
  const none = new Map<string, never>()
  return evaluate(entry.value, {
    input,
    secrets: {},
    run: {},
    agents: none,
    rounds: new Map(),
    answers: none,
    waited: none,
    dynamics: none,
    failures: new Map(),
    locals: none,
    variables: none,
    items: none,
    positions: [],
    matched: null,
    path: "output.r",
    iteration: null,
    work: new EvaluationWork(),
  })
}
