import assert from "node:assert/strict"
import { describe, test } from "node:test"
import { fc } from "../support/fast-check.ts"
import { assertOften, cases } from "../support/strength.ts"

import { format, formatText } from "../../src/syntax/format.ts"
import { lex } from "../../src/syntax/lexer.ts"
import { parseWithTests } from "../../src/syntax/test-parser.ts"
import { isBlockString } from "../../src/syntax/token.ts"
import type { Tree } from "../../src/syntax/tree.ts"
import { assertSameTree } from "./same-tree.ts"
import type { Noise } from "./wire-source.ts"
import { wireSource } from "./wire-source.ts"

const runs = cases(300)
const path = process.env["FC_PATH"]
const parameters = {
  numRuns: runs,
  ...(path === undefined ? {} : { path }),
}

describe("random sources", () => {
  for (const noise of ["blanks", "breaks", "comments"] satisfies Noise[]) {
    test(`with ${noise} between their tokens`, () => {
      let valid = 0
      let all = 0
      fc.assert(
        fc.property(wireSource(noise), (source) => {
          all++
          const { tree, diagnostics } = parseWithTests(source)
          if (diagnostics.length > 0) return
          valid++
          checkFormatted(tree)
        }),
        parameters,
      )
      assertOften(valid, all * 0.6, `of ${all} sources are valid`)
    })
  }

  test("that are damaged are refused, or formatted as well as any", () => {
    const damage = fc.array(fc.tuple(fc.nat(), fc.nat(3), fc.constantFrom(...damages)), { minLength: 1, maxLength: 3 })
    fc.assert(
      fc.property(wireSource("comments"), damage, (source, damages) => {
        let damaged = source
        for (const [at, length, insert] of damages) {
          const start = at % (damaged.length + 1)
          damaged = damaged.slice(0, start) + insert + damaged.slice(start + length)
        }
        const result = formatText(damaged)
        if ("diagnostics" in result) assert.ok(result.diagnostics.length > 0)
        else checkFormatted(parseWithTests(damaged).tree)
      }),
      parameters,
    )
  })
})

const damages = [
  "",
  "{",
  "}",
  "[",
  "]",
  "(",
  ")",
  '"',
  '"""',
  "{{",
  "}}",
  ",",
  ":",
  "|",
  "??",
  ".",
  "//",
  "\n",
  "match",
  "/*",
]

function checkFormatted(tree: Tree): void {
  const formatted = format(tree)
  const again = parseWithTests(formatted)
  assert.deepEqual(again.diagnostics, [], "the formatted text has no syntax errors")
  assertSameTree(again.tree, tree)
  assert.equal(format(again.tree), formatted, "formatted twice")
  assert.deepEqual(
    commentsOf(formatted),
    commentsOf(tree.text).map((comment) => comment.trimEnd()),
    "comments, in their order, without blanks at their ends",
  )
  assert.deepEqual(wordsOf(again.tree), wordsOf(tree), "names, numbers and one-line strings, as they are written")
  checkBlanks(again.tree)
  checkWidth(again.tree)
}

function commentsOf(text: string): string[] {
  return lex(text).tokens.flatMap((token) => token.comments.map((comment) => text.slice(comment.start, comment.end)))
}

/** The sign of a number may be a token of its own: `- 1` becomes `-1`. */
function wordsOf({ text, tokens }: Tree): string[] {
  return tokens
    .filter((token) => token.kind === "name" || token.kind === "number" || token.kind === "string")
    .filter((token) => !isBlockString(text, token))
    .map((token) => text.slice(token.start, token.end))
    .map((word) => word.replace(/^-/, ""))
}

/** Blanks outside of strings: four spaces a level, no trailing ones, single blank lines, none at the ends of blocks. */
function checkBlanks({ text, tokens }: Tree): void {
  let read = 0
  let before = ""
  for (const token of tokens) {
    const places = [...token.comments, token]
    for (const place of places) {
      const blank = text.slice(read, place.start)
      const isEnd = place === token && token.kind === "end"
      if (before === "") assert.equal(blank, "", "the file begins at once")
      else if (isEnd) assert.equal(blank, "\n", "the file ends with one line break")
      else assert.match(blank, /^( ?|\n\n?( {4})*)$/, `blanks before ${text.slice(place.start, place.end)}`)
      if (blank.startsWith("\n\n")) {
        assert.doesNotMatch(before, /^[{[(]$/, "a blank line after an opening bracket")
        assert.doesNotMatch(text.slice(place.start, place.end), /^[}\])]$/, "a blank line before a closing bracket")
      }
      read = place.end
      before = text.slice(place.start, place.end)
    }
  }
}

/** No line is too long that has braces or square brackets, with something between them, to break. */
function checkWidth({ text, tokens }: Tree): void {
  const open: { readonly index: number; readonly isString: boolean }[] = []
  for (const [index, token] of tokens.entries()) {
    if (token.kind === "{" || token.kind === "[" || token.kind === "head") {
      open.push({ index, isString: token.kind === "head" })
    } else if (token.kind === "}" || token.kind === "]" || token.kind === "tail") {
      const opening = open.pop()?.index ?? 0
      const inString = open.some(({ isString }) => isString)
      const isEmpty = opening + 1 === index
      const isIndex = token.kind === "]" && tokens[index - 1]?.kind === "number" && opening + 2 === index
      const start = tokens[opening]?.start ?? 0
      const isOnOneLine = !text.slice(start, token.end).includes("\n")
      if (token.kind === "tail" || inString || isEmpty || isIndex || !isOnOneLine) continue
      const lineStart = text.lastIndexOf("\n", start) + 1
      const lineEnd = text.indexOf("\n", token.end)
      const line = text.slice(lineStart, lineEnd < 0 ? undefined : lineEnd)
      const comment = tokens.find((one) => one.start > token.start && one.comments.length > 0)?.comments[0]?.start
      // A condition is not broken for the text after it, which cannot be.
      const tail = tokens.find((one, at) => at > index && text.slice(one.start, one.end) === "else")
      const end = Math.min(...[lineEnd, comment ?? lineEnd, tail?.start ?? lineEnd].filter((at) => at > token.start))
      assert.ok(text.slice(lineStart, end).trimEnd().length <= 100, `could break: ${line}`)
    }
  }
}
