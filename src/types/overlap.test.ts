import assert from "node:assert/strict"
import { describe, test } from "node:test"
import { compile } from "../compile.ts"
import { overlaps } from "./overlap.ts"
import type { Type, TypeTable } from "./types.ts"

const schemas = `
schema list { head: string  tail: maybe schema.list }
schema other_list { head: string  tail: maybe schema.other_list }
schema numbers { head: integer  tail: maybe schema.numbers }
schema endless { next: [schema.endless; 2] | null }
schema shape { variant kind { circle { r: number } square { a: number } } }
schema round { variant kind { circle { r: integer } } }
schema tagged { variant type { circle { r: number } } }
`

/** The two types of a pair, as the language writes them. */
function typesOf(a: string, b: string): { a: Type; b: Type; types: TypeTable } {
  const { program, diagnostics } = compile(`${schemas} input { a: ${a}  b: ${b} }`)
  const [one, other] = program.input?.type.fields ?? []
  assert.ok(one !== undefined && other !== undefined, JSON.stringify(diagnostics))
  return { a: one.type, b: other.type, types: program.types }
}

function overlap(a: string, b: string): boolean {
  const found = typesOf(a, b)
  const forth = overlaps(found.a, found.b, found.types)
  assert.equal(overlaps(found.b, found.a, found.types), forth, `${a} and ${b} give different answers in the two orders`)
  return forth
}

describe("there is a value that both types have", () => {
  for (const [a, b] of [
    ["string", '"x"'],
    ["string", "enum { a }"],
    ["enum { a, b }", "enum { b, c }"],
    ["enum { a, b }", '"b"'],
    ['"a" | "b"', '"b"'],
    ['"a" | "b"', "enum { b }"],
    ["number", "integer"],
    ["maybe string", "maybe integer"],
    ["maybe string", "null"],
    ["string | integer", "integer | boolean"],
    ["[string]", "[integer]"],
    ["[string; 2]", "(string, string)"],
    ["[string]", "(string, string)"],
    ["[string; 0]", "[integer; 0]"],
    ["object", "{ a: string }"],
    ["object", "schema.shape"],
    ["{ a: string, b: maybe integer }", "{ b: maybe string, a: enum { x } }"],
    ["schema.list", "schema.other_list"],
    ["schema.list", "schema.list"],
    ["schema.shape", "schema.round"],
    ["schema.shape", '{ kind: "circle", r: integer }'],
    ["schema.shape", "{ kind: string, r: number }"],
    ["schema.endless", "schema.endless"],
  ] as const) {
    test(`${a} and ${b}`, () => assert.ok(overlap(a, b)))
  }
})

describe("no value is of both types", () => {
  for (const [a, b] of [
    ["string", "integer"],
    ["string", "boolean"],
    ["enum { a, b }", "enum { c }"],
    ["enum { a, b }", '"c"'],
    ['"a" | "b"', '"c"'],
    ['"a" | "b"', "enum { c }"],
    ["maybe string", "integer"],
    ["null", "object"],
    ["[string; 2]", "[string; 3]"],
    ["[string; 2]", "[integer; 2]"],
    ["(string, integer)", "(integer, string)"],
    ["[string]", "(integer, string)"],
    ["[string]", "object"],
    ["[string]", "{ a: string }"],
    ["{ a: string }", "{ b: string }"],
    ["{ a: string }", "{ a: string, b: maybe string }"],
    ["schema.list", "schema.numbers"],
    ["schema.shape", '{ kind: "triangle", r: number }'],
    ["schema.shape", '{ kind: "circle", a: number }'],
    ["schema.shape", "schema.tagged"],
    ["schema.round", '{ kind: "circle", r: string }'],
  ] as const) {
    test(`${a} and ${b}`, () => assert.ok(!overlap(a, b)))
  }
})

test("what is untyped overlaps with everything", () => {
  const { a, types } = typesOf("string", "string")
  assert.ok(overlaps({ kind: "any" }, a, types))
  assert.ok(overlaps(a, { kind: "error" }, types))
})
