import assert from "node:assert/strict"
import { test } from "node:test"
import { fc } from "../../test/support/fast-check.ts"
import { assertOften, cases } from "../../test/support/strength.ts"
import { ecmaPattern } from "./ecma-pattern.ts"
import { OverBudget, StepBudget } from "../adapters/mcp/step-budget.ts"

const matches = (pattern: string, text: string): boolean | null =>
  ecmaPattern(pattern)?.test(text, new StepBudget(1_000_000)) ?? null

const symbols =
  "a b . ^ $ | ( ) * + ? - 1 (?: [ab] [^a] [a-c\\d] \\d \\w \\W \\s \\b \\B \\. \\u0061 \\u{1f600} {2} {1,2} {0,} {3 } ]"
const more = "\\p{L} \\x61 😀 (?<n> \\- [\\]] [.] \\/ *? \\n"
const piece = fc.constantFrom(" ", ...`${symbols} ${more}`.split(" "))

test("a pattern matches what JavaScript's own engine says that it matches", () => {
  let compared = 0
  fc.assert(
    fc.property(
      fc.array(piece, { maxLength: 8 }),
      fc.array(fc.constantFrom(..."aab1 -.😀\n]/".split(""), "😀", "ä"), { maxLength: 8 }),
      (pieces, letters) => {
        const pattern = pieces.join("")
        const text = letters.join("")
        const own = matches(pattern, text)
        // V8 also looks between the halves of a surrogate pair.
        if (own === null || pattern.includes("\\B")) return
        compared++
        const flags = ["u", ""].find((flag) => {
          try {
            return new RegExp(pattern, flag).flags === flag
          } catch {
            return false
          }
        })
        assert.equal(own, new RegExp(pattern, flags).test(text), `${pattern} ${JSON.stringify(text)}`)
      },
    ),
    { numRuns: cases(5000) },
  )
  assertOften(compared, 100, "patterns were compared")
})

for (const pattern of ["^(a+)+$", "^(a|aa)+$", "^(.*)*$", "^(a?){50}a{50}$", "(x+x+)+y", "^([a-zA-Z]+)*$"]) {
  test(`${pattern} takes time in proportion to the text`, () => {
    const steps = (length: number): number => {
      const budget = new StepBudget(10_000_000)
      ecmaPattern(pattern)?.test(`${"x".repeat(length / 2)}${"a".repeat(length / 2)}!`, budget)
      return budget.used
    }
    assert.ok(steps(2000) < 2.5 * steps(1000))
  })
}

test("\\B is every place that is not the edge of a word", () => {
  assert.deepEqual([matches("a\\B", "ab"), matches("a\\B", "a b"), matches("^\\B$", "")], [true, false, true])
})

test("a text that is too long for the steps that are left ends with OverBudget", () => {
  assert.throws(() => ecmaPattern("^(a|b)*$")?.test("a".repeat(10_000), new StepBudget(5000)), OverBudget)
})

for (const pattern of [
  "(?=a)",
  "(?!a)",
  "(?<=a)",
  "(a)\\1",
  "(?<n>a)\\k<n>",
  "(",
  "a{2,1}",
  `${"(".repeat(500)}${")".repeat(500)}`,
  "(((a{50}){50}){50}){50}",
  "(((()){2000}){2000}){2000}",
  "a".repeat(3000),
]) {
  test(`${pattern.slice(0, 40)} is not matched here`, () => assert.equal(ecmaPattern(pattern), null))
}
