import assert from "node:assert/strict"
import { test } from "node:test"
import { compile } from "../../src/compile.ts"
import type { Draft, DraftObject } from "./draft.ts"
import { blankValue, unansweredValue } from "./draft.ts"
import { emptyTexts } from "./empty-texts.ts"

const { program } = compile(`input {
    a: string
    b: maybe string
    c: string = "usual"
    d: [string]
    e: (string, boolean)
    f: { g: string, h: integer }
    i: variant kind { x { y: string } z { } }
    j: enum { low, high }
}
output { all: input }
`)
const type = program.input?.type ?? assert.fail("The input has no type")
const blank = blankValue(type, program.types) as DraftObject
const empty = (draft: Draft): string[] => emptyTexts(draft, type, program.types, "input")

test("texts that are required and empty are found at every depth; those that may be left out, or have a default, are not", () => {
  assert.deepEqual(empty({ ...blank, c: "", d: ["x", ""] }), [
    "input.a",
    "input.d[1]",
    "input.e[0]",
    "input.f.g",
    "input.i.y",
  ])
  assert.deepEqual(empty({ ...blank, a: "x", e: ["y", true], f: { g: " " }, i: { kind: "z" } }), [])
})

test("an answer begins without a choice, except where nothing needs to be said", () => {
  assert.deepEqual(unansweredValue(type, program.types), {
    a: "",
    b: null,
    c: "usual",
    d: [],
    e: ["", undefined],
    f: { g: "", h: undefined },
    i: undefined,
    j: undefined,
  })
})
