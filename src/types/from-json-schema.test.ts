import assert from "node:assert/strict"
import { test } from "node:test"
import { fc } from "../../test/support/fast-check.ts"
import { cases } from "../../test/support/strength.ts"
import { compile } from "../compile.ts"
import { arbitraryType, randomFrom, validValue } from "../../test/properties/arbitraries.ts"
import { fromJsonSchema } from "./from-json-schema.ts"
import { toJsonSchema } from "./json-schema.ts"
import { showType } from "./show-type.ts"
import { validateValue } from "./validate-value.ts"

const written = [
  "publish: boolean, note: maybe string",
  "a: string, b: number, c: integer, d: null, e: object",
  'f: enum { low, high }, g: "fixed"',
  "h: [string], i: [[number]; 3], j: (string, boolean)",
  "k: string | number, l: maybe { m: [maybe integer] }",
  "n: variant kind { yes { why: string } no { } }",
  "o: maybe variant kind { yes { why: string } no { } }",
]

for (const fields of written) {
  test(`comes back as it was written: ${fields}`, () => {
    const { program, diagnostics } = compile(`ask a { question: "?" output { ${fields} } }`)
    const type = program.asks.get("a")?.output
    assert.ok(type !== undefined, JSON.stringify(diagnostics))
    const read = fromJsonSchema(toJsonSchema(type, program.types))
    assert.equal(showType(read.type, 500), showType(type, 500))
  })
}

test("comments come back as labels, and recursive schemas by their names", () => {
  const { program } = compile(`
    schema tree { /// Its name
      name: string, children: [schema.tree] }
    ask a { question: "?" output { /// The root
      tree: schema.tree } }`)
  const type = program.asks.get("a")?.output
  assert.ok(type !== undefined)
  const read = fromJsonSchema(toJsonSchema(type, program.types))
  assert.ok(read.type.kind === "record")
  assert.equal(read.type.fields[0]?.doc, "The root")
  assert.deepEqual(Object.keys(read.types), ["tree"])
  assert.deepEqual(validateValue({ tree: { name: "a", children: [] } }, read.type, read.types, "answer"), [])
  assert.equal(validateValue({ tree: { name: "a", children: [1] } }, read.type, read.types, "answer").length, 1)
})

test("what is no schema of ours takes every value", () => {
  for (const schema of [{}, { type: "file" }, { $ref: "https://example.com" }, { not: {} }]) {
    assert.equal(fromJsonSchema(schema).type.kind, "any")
  }
})

test("the same values fit before and after", () => {
  fc.assert(
    fc.property(arbitraryType, arbitraryType, fc.integer(), ({ type, types }, other, seed) => {
      const random = randomFrom(seed)
      const read = fromJsonSchema(toJsonSchema(type, types))
      for (let round = 0; round < 4; round++) {
        for (const from of [{ type, types }, other]) {
          const value = validValue(from, random)
          const before = validateValue(value, type, types, "v").length === 0
          const after = validateValue(value, read.type, read.types, "v").length === 0
          assert.equal(after, before, `${JSON.stringify(value)} and ${showType(type, 300)}`)
        }
      }
    }),
    { numRuns: cases(500) },
  )
})
