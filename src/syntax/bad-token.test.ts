import assert from "node:assert/strict"
import { test } from "node:test"
import { explainBad } from "./bad-token.ts"

const message = (written: string) => explainBad(written)?.message
const hint = (written: string) => explainBad(written)?.hint

test("quotes of other languages", () => {
  assert.equal(message("'a b'"), "Strings are written with `\"`, not with `'`")
  assert.equal(message("'"), "Strings are written with `\"`, not with `'`")
  assert.equal(message("“a”"), 'Strings are written with `"`, not with `“`')
  assert.equal(message("`a`"), 'Strings are written with `"`, not with backticks')
})

test("invisible characters are named", () => {
  assert.equal(message("\u00A0"), "Unexpected invisible character U+00A0")
  assert.equal(message("\u200B\u200B"), "Unexpected invisible character U+200B")
  assert.equal(message("\f"), "Unexpected invisible character U+000C")
  assert.equal(message("\uFEFF"), "Unexpected invisible character U+FEFF")
})

test("one character, or several", () => {
  assert.equal(message("%"), "Unexpected character `%`")
  assert.equal(message("😀"), "Unexpected character `😀`")
  assert.equal(message("&&"), "Unexpected characters `&&`")
  assert.equal(message("é".repeat(60)), `Unexpected characters \`${"é".repeat(39)}…\``)
})

test("hints by what the author may have had in mind", () => {
  assert.equal(hint("="), "A value follows `:`, not `=`.")
  assert.equal(hint("&"), "Both of two conditions is written `&&`.")
  assert.equal(hint("=>"), "A value follows `:`, not `=>`.")
  assert.equal(hint("é"), "A name is made of the letters A to Z, digits and `_`.")
  assert.equal(hint("<!"), "A comment begins with `//`.")
  assert.equal(hint("~"), undefined)
})

test("what the lexer has reported is not reported again", () => {
  assert.equal(explainBad("\0\0"), undefined)
  assert.equal(explainBad("\uD800"), undefined)
})
