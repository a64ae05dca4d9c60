import assert from "node:assert/strict"
import { test } from "node:test"
import type { JsonValue } from "../base/json-value.ts"
import { compile } from "../compile.ts"
import { projectValue } from "./project-value.ts"
import { validateValue } from "./validate-value.ts"
import type { Type, TypeTable } from "./types.ts"

// Types as an author writes them, so that schemas and variants are the checker's own.
function declared(fields: string, schemas = ""): { type: Type; types: TypeTable } {
  const { plan, diagnostics } = compile(`${schemas}\ninput { ${fields} }\noutput { a: input.v }`)
  if (plan === undefined) throw new Error(diagnostics.map(({ message }) => message).join("\n"))
  return { type: plan.input, types: plan.types }
}

function projected(fields: string, value: JsonValue, schemas = ""): JsonValue {
  const { type, types } = declared(fields, schemas)
  const { value: found, misfits } = projectValue({ v: value }, type, types, "result")
  const problems = misfits.map(({ message }) => message)
  return problems.length > 0 ? problems : ((found as { v?: JsonValue }).v ?? null)
}

const rows: [string, string, JsonValue, JsonValue, string?][] = [
  ["fields that are not declared are left out", "v: { a: string }", { a: "x", b: 1 }, { a: "x" }],
  ["at every level", "v: [{ a: { b: string } }]", [{ a: { b: "x", c: 1 }, d: 2 }], [{ a: { b: "x" } }]],
  ["in tuples", "v: (string, { a: string })", ["x", { a: "y", b: 1 }], ["x", { a: "y" }]],
  ["in cases of variants", "v: variant k { a { x: string } }", { k: "a", x: "1", y: 2 }, { k: "a", x: "1" }],
  [
    "in recursive schemas",
    "v: schema.t",
    { n: 1, z: 0, kids: [{ n: 2, z: 0, kids: [] }] },
    { n: 1, kids: [{ n: 2, kids: [] }] },
    "schema t { n: integer  kids: [schema.t] }",
  ],
  ["a missing field that may be null is null", "v: { a: maybe string, b: string }", { b: "x" }, { a: null, b: "x" }],
  [
    "in elements too",
    "v: [{ a: maybe { b: string } }]",
    [{}, { a: { b: "x", c: 1 } }],
    [{ a: null }, { a: { b: "x" } }],
  ],
  ["an open object keeps everything", "v: { a: object }", { a: { x: 1 }, b: 2 }, { a: { x: 1 } }],
  [
    "what is missing stays an error",
    "v: { a: string, b: string }",
    { b: "x" },
    ["result.v.a is missing: expected string"],
  ],
  [
    "what is of another type stays an error, and names its place alone",
    "v: [{ a: string }]",
    [{ a: 1, b: 2 }],
    ["result.v[0].a: expected string, found number 1"],
  ],
  ["a fixed length stays", "v: [{ a: string }; 2]", [{ a: "x", b: 1 }], ["result.v: expected 2 elements, found 1"]],
  ["a union takes the member that fits", "v: { a: string } | { b: string }", { b: "x", c: 1 }, { b: "x" }],
  [
    "and of several the one that leaves least out",
    "v: { a: string } | { a: string, b: maybe string }",
    { a: "x", b: "y", c: 1 },
    { a: "x", b: "y" },
  ],
  ["or fills least in", "v: { a: string, b: maybe string } | { a: string }", { a: "x", c: 1 }, { a: "x" }],
  [
    "by what is inside, not by the outside alone",
    "v: { a: { x: string } } | { a: { y: string } }",
    { a: { y: "1", z: 2 }, q: 0 },
    { a: { y: "1" } },
  ],
  [
    "literals tell members apart",
    'v: { k: "a", x: string } | { k: "b", x: string }',
    { k: "b", x: "1", z: 0 },
    { k: "b", x: "1" },
  ],
  ["arrays and objects side by side", "v: [{ a: string }] | { a: string }", [{ a: "x", b: 1 }], [{ a: "x" }]],
  [
    "where no member fits, the likeliest is reported",
    "v: { a: string, b: integer } | [string]",
    { a: "x", b: "y", c: 1 },
    ['result.v.b: expected integer, found string "y"'],
  ],
]

for (const [name, type, value, expected, schemas] of rows) {
  test(name, () => assert.deepEqual(projected(type, value, schemas), expected))
}

test("a value that fits is the same value, and so are its parts that fit", () => {
  const { type, types } = declared("v: { a: { b: string }, c: maybe string }")
  const fits = { v: { a: { b: "x" }, c: null } }
  assert.equal(projectValue(fits, type, types, "result").value, fits)
  const inner = { b: "x" }
  const { value } = projectValue({ v: { a: inner, c: null, d: 1 } }, type, types, "result")
  assert.equal((value as { v: { a: JsonValue } }).v.a, inner)
})

test("a key called __proto__ is left out, and sets no prototype", () => {
  const { type, types } = declared("v: { a: string }")
  const value = JSON.parse('{"v":{"a":"x","__proto__":{"b":1}}}') as JsonValue
  const { value: found } = projectValue(value, type, types, "result")
  assert.deepEqual(found, { v: { a: "x" } })
  assert.equal(Object.getPrototypeOf((found as { v: object }).v), Object.prototype)
})

test("nested unions are tried once for each value and member", () => {
  const schemas =
    "schema a { x: maybe schema.t }\nschema b { x: maybe schema.t }\nschema t { kids: [schema.a | schema.b] }"
  const { type, types } = declared("v: schema.t", schemas)
  let value: JsonValue = null
  for (let depth = 0; depth < 60; depth++) value = { kids: [{ x: value, z: 1 }], z: 1 }
  const { value: found, misfits } = projectValue({ v: value }, type, types, "result")
  assert.deepEqual(misfits, [])
  assert.doesNotMatch(JSON.stringify(found), /"z"/)
})

test("what is said to fit does", () => {
  for (const [, type, value, , schemas] of rows) {
    const known = declared(type, schemas)
    const { value: found, misfits } = projectValue({ v: value }, known.type, known.types, "result")
    assert.equal(misfits.length === 0, validateValue(found, known.type, known.types, "result").length === 0, type)
  }
})

test("a value with more alternatives than can be tried says so", () => {
  const members = Array.from({ length: 400 }, (_, at) => `{ a${at}: string, b: { c: integer } }`)
  const { type, types } = declared(`v: [${members.join(" | ")}]`)
  const value = Array.from({ length: 20_000 }, () => ({ a399: "x", b: { c: 1 }, z: 1 }))
  const { misfits } = projectValue({ v: value }, type, types, "result")
  assert.match(misfits[0]?.message ?? "", /too many values to try every alternative/)
})
