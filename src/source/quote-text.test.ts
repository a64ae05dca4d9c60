import assert from "node:assert/strict"
import { test } from "node:test"
import * as fc from "fast-check"
import { compile } from "../compile.ts"
import { quoteText } from "./quote-text.ts"

function readBack(text: string): unknown {
  const { plan } = compile(`output { a: ${quoteText(text)} }`)
  const [output] = plan?.nodes ?? []
  const field = output?.kind === "output" ? output.fields[0] : undefined
  return field?.value.op === "literal" ? field.value.value : undefined
}

test("what is written is read back", () => {
  for (const text of [
    "",
    "plain",
    'a"b',
    "a\\b",
    "\\u0041",
    "a\n\r\tb",
    "{{ x }}",
    "{{{",
    "}}}",
    "\u202e\u{e0061}👩‍👩",
    "\\b\\f",
  ]) {
    assert.equal(readBack(text), text, JSON.stringify(text))
    assert.doesNotMatch(quoteText(text), /[\n\r\u202e\u{e0061}]/u)
  }
})

test("any text is read back", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      const wellFormed = text.toWellFormed()
      assert.equal(readBack(wellFormed), wellFormed)
    }),
  )
})
