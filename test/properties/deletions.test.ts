import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { compile } from "../../src/compile.ts"
import { isError } from "../../src/source/diagnostic.ts"
import { lex } from "../../src/syntax/lexer.ts"

const examples = join(import.meta.dirname, "../../examples")

/** Of the deletions of one token that are mistakes: how many there are, and how many give one message. */
function deletions(text: string): { readonly all: number; readonly withOne: number } {
  let [all, withOne] = [0, 0]
  for (const { start, end } of lex(text).tokens) {
    if (start === end) continue
    const { diagnostics } = compile(text.slice(0, start) + text.slice(end))
    const errors = diagnostics.filter(isError).length
    if (errors > 0) all++
    if (errors === 1) withOne++
  }
  return { all, withOne }
}

test("a token that is missing gives one message, nearly always", () => {
  let [all, withOne] = [0, 0]
  for (const name of ["hello", "chain", "fan-out", "loop", "conditions", "variants"]) {
    const found = deletions(readFileSync(join(examples, `${name}.wire`), "utf8"))
    all += found.all
    withOne += found.withOne
  }
  assert.ok(all > 500)
  assert.ok(withOne / all >= 0.93, `${withOne} of ${all}`)
})
