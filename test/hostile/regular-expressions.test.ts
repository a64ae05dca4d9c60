import assert from "node:assert/strict"
import { join, relative } from "node:path"
import { test } from "node:test"
import { analyse } from "scslre"
import { cpuTime } from "../support/cpu-time.ts"
import { attacks } from "../support/regex-attacks.ts"
import type { RegexLiteral } from "../support/regex-literals.ts"
import { regexesIn, scan } from "../support/regex-literals.ts"
import { soakTest } from "../support/strength.ts"

// Every regular expression of the service takes linear time, whatever it meets. Two proofs for each: an analysis of its
// structure finds no two ways to read the same text, and no restart within a repetition; and long texts made to be hard for it
// are read in time. One that fails is rewritten, or replaced by a few lines of code (`src/base/without-trailing.ts`).

const root = join(import.meta.dirname, "..", "..")
const { literals, built } = regexesIn(join(root, "src"))
const place = ({ file, line, source, flags }: RegexLiteral): string =>
  `${relative(root, file)}:${line} /${source}/${flags}`

test("the scanner tells regular expressions from everything else", () => {
  const found = scan(`a / b / c; /x[/]y/g; "/no/"; \`\${/in/.test("/")} /no/ \${b / c}\`; // /no/
    /* /no/ */ return /d\\/e/u; f(x) / 2 / 3; [1] / 2 / 3; (/h/)`)
  assert.deepEqual(
    found.map(({ source, flags }) => `${source} ${flags}`),
    ["x[/]y g", "in ", "d\\/e u", "h "],
  )
  assert.ok(literals.length > 200, String(literals.length))
})

test("no regular expression has two ways to read a text", () => {
  const bad = literals.filter((one) => analyse(one).reports.length > 0)
  assert.deepEqual(bad.map(place), [])
})

test("the analysis finds what it is for", () => {
  for (const source of ["\\s+$", "(a+)+b", "a*a*b", "(?:a|a)*b", "x*y"]) {
    assert.notEqual(analyse({ source, flags: "" }).reports.length, 0, source)
  }
})

/** Short ones first: where the cost grows faster than with the square, a long one would never end. */
const lengths = [20, 1000, 20_000]

/** Milliseconds of CPU: the least of three tries, or the first that is below what is enough. */
function cost({ source, flags }: Expression, text: string, enough: number): number {
  let least = Number.POSITIVE_INFINITY
  for (let attempt = 0; attempt < 3 && least > enough; attempt++) {
    const expression = new RegExp(source, flags)
    const started = cpuTime()
    if (expression.global) text.replaceAll(expression, "")
    else expression.exec(text)
    least = Math.min(least, cpuTime() - started)
  }
  return least
}

/** Milliseconds of CPU. What is linear takes less than one for such a text, and what is quadratic takes hundreds. */
const noticed = 20

type Expression = Pick<RegexLiteral, "source" | "flags">

/**
 * How the cost of an attack grows with its length, if it is slow at all; null where no attack is. What is linear takes four times as
 * long for four times the text, on a slow machine too, and what is quadratic takes sixteen times as long.
 */
function growth(expression: Expression): string | null {
  const { source, flags } = expression
  for (const length of lengths) {
    const shorter = attacks(source, flags, length / 4)
    for (const text of attacks(source, flags, length)) {
      const quarter = shorter.next().value ?? ""
      const whole = cost(expression, text, noticed)
      if (whole <= noticed) continue
      const part = cost(expression, quarter, 0)
      if (whole > 8 * part) return `${part} ms for ${quarter.length} characters, ${whole} ms for ${text.length}`
    }
  }
  return null
}

soakTest("no regular expression is slow on a text that is made for it", () => {
  const slow = literals.flatMap((one) => {
    const found = growth(one)
    return found === null ? [] : [`${place(one)}: ${found}`]
  })
  assert.deepEqual(slow, [])
})

soakTest("the attacks find what they are for", () => {
  for (const source of ["\\s+$", "\\d+x"]) {
    assert.notEqual(growth({ source, flags: "" }), null, source)
  }
})

/** Made at run time; each with the reason why it is linear. */
const reviewed: Readonly<Record<string, string>> = {
  "src/base/ecma-pattern.ts": "one only checks the syntax; the other matches one character",
  "src/base/ordered-object.ts": "one pattern that is written out, with another flag; the mark is one character",
  "src/base/re2-pattern.ts": "a class of characters, of which one is looked at",
  "src/base/media-type.ts": "classes that share no characters, put together from named parts",
  "src/adapters/model-turn/refused-field.ts": "a literal name between fixed words and runs of blanks",
  "src/api-import/import-api.ts": "the stars of `--only`, which whoever calls the command writes",
  "src/base/visible-text.ts": "one character",
  "src/demo/prompt-cache.ts": "runs on what the demo model was sent, a piece at a time",
  "src/editor/code-places.ts": "a name of the source as a whole word",
  "src/check/known-credentials.ts":
    "forms that begin with fixed texts, each followed by one class; a test measures it on hostile texts",
  "src/check/skipped-text.ts": "an identifier as a whole word",
  "src/cli/terminal/screen.ts": "a fixed text, then digits and semicolons up to a letter",
  "src/demo/stream-events.ts": "pieces of a fixed length",
  "src/mcp-server/tool-pages.ts": "fixed texts with a number and a word between them",
}

test("a regular expression that is made at run time is reviewed", () => {
  const files = [...new Set(built.map(({ file }) => relative(root, file)))]
  assert.deepEqual(files.toSorted(), Object.keys(reviewed).toSorted())
})
