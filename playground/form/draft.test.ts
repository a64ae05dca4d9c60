import assert from "node:assert/strict"
import { test } from "node:test"
import { compile } from "../../src/compile.ts"
import { validateValue } from "../../src/types/validate-value.ts"
import type { RecordType, TypeTable } from "../../src/types/types.ts"
import type { Draft } from "./draft.ts"
import { blankValue, isTooLargeForForm, memberOf, shapeDraft } from "./draft.ts"

function inputOf(fields: string, more = ""): { type: RecordType; types: TypeTable } {
  const { program, diagnostics } = compile(`input {\n${fields}\n}\n${more}\noutput { all: input }\n`)
  assert.deepEqual(
    diagnostics.filter(({ severity }) => severity === "error"),
    [],
  )
  assert.ok(program.input !== undefined)
  return { type: program.input.type, types: program.types }
}

const shape = (draft: Draft, fields: string, more?: string): Draft => {
  const { type, types } = inputOf(fields, more)
  return shapeDraft(draft, type, types)
}

test("a blank value has every field, and fits but for numbers that nobody has typed", () => {
  const fields = `a: string
    b: boolean
    c: enum { low, high }
    d: [string]
    e: (string, boolean)
    f: { g: maybe string }
    h: variant kind { x { y: string } z { } }
    i: object
    j: "only"
    k: [string; 2]`
  const { type, types } = inputOf(fields)
  const blank = blankValue(type, types)
  assert.deepEqual(validateValue(blank, type, types, "input"), [])
  assert.deepEqual(blank, {
    a: "",
    b: false,
    c: "low",
    d: [],
    e: ["", false],
    f: { g: null },
    h: { kind: "x", y: "" },
    i: {},
    j: "only",
    k: ["", ""],
  })
  const { type: numbers, types: none } = inputOf("n: number\n i: integer")
  assert.equal(validateValue(blankValue(numbers, none), numbers, none, "input").length, 2)
})

test("a type that contains itself has a blank value", () => {
  const { type, types } = inputOf("root: schema.part", "schema part { name: string\n parts: [schema.part] }")
  assert.deepEqual(blankValue(type, types), { root: { name: "", parts: [] } })
})

test("a draft takes the shape of the type and keeps what fits in it", () => {
  assert.deepEqual(shape({ a: "x", old: 1 }, "a: string\n b: boolean"), { a: "x", b: false })
  assert.deepEqual(shape({ a: ["x"] }, "a: string"), { a: "" })
  assert.deepEqual(shape({ a: "x" }, "a: [string]"), { a: [] })
  assert.deepEqual(shape({ a: ["x", 2] }, "a: [string]"), { a: ["x", 2] })
  assert.deepEqual(shape({ a: ["x"] }, "a: [string; 2]"), { a: ["x", ""] })
  assert.deepEqual(shape(undefined, "a: string"), { a: "" })
})

test("what was typed into a number's field stays, right or wrong", () => {
  assert.deepEqual(shape({ n: "12a" }, "n: number"), { n: "12a" })
  assert.deepEqual(shape({ n: 3 }, "n: integer"), { n: 3 })
  assert.deepEqual(shape({}, "n: integer"), { n: undefined })
})

test("a variant keeps its case, and falls back to the first where the case is gone", () => {
  const fields = "v: variant kind { a { x: string } b { y: string } }"
  assert.deepEqual(shape({ v: { kind: "b", y: "1", x: "2" } }, fields), { v: { kind: "b", y: "1" } })
  assert.deepEqual(shape({ v: { kind: "c", y: "1" } }, fields), { v: { kind: "a", x: "" } })
})

test("which member of a union a value is", () => {
  const { type, types } = inputOf("u: string | integer | [string] | null")
  const union = type.fields[0]?.type
  assert.ok(union?.kind === "union")
  const kindOf = (draft: Draft): string | undefined => memberOf(draft, union.members, types)?.kind
  assert.equal(kindOf("x"), "string")
  assert.equal(kindOf(3), "integer")
  assert.equal(kindOf(["a"]), "array")
  assert.equal(kindOf([1]), "array")
  assert.equal(kindOf(null), "null")
  assert.equal(kindOf(undefined), "integer")
})

test("a small type whose blank value would have millions of fields", () => {
  const fields = (type: string): string => Array.from({ length: 20 }, (_, at) => `f${at}: ${type}`).join("\n")
  const schemas = Array.from(
    { length: 6 },
    (_, at) => `schema s${at} { ${fields(at === 5 ? "string" : `schema.s${at + 1}`)} }`,
  )
  const { type, types } = inputOf("a: schema.s0\nb: string", schemas.join("\n"))
  for (const draft of [blankValue(type, types), shapeDraft({ a: {} }, type, types)]) {
    assert.ok(JSON.stringify(draft).length < 100_000)
    assert.ok(isTooLargeForForm(draft))
  }
  assert.ok(isTooLargeForForm(Array.from({ length: 3_000 }, () => 1)))
  assert.ok(!isTooLargeForForm({ a: [1, { b: "x" }] }))
})
