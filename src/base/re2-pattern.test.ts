import assert from "node:assert/strict"
import { test } from "node:test"
import { fc } from "../../test/support/fast-check.ts"
import { assertOften, cases } from "../../test/support/strength.ts"
import { PatternSearch } from "./linear-pattern.ts"
import { re2Pattern } from "./re2-pattern.ts"

/** The first match and its groups; null for none. */
function find(pattern: string, text: string, from = 0): (string | null)[] | null {
  const program = re2Pattern(pattern)
  if ("problem" in program) throw new Error(program.problem)
  const search = new PatternSearch(program, text, from, program.groups)
  if (search.run(Infinity) !== true) return null
  return Array.from({ length: program.groups + 1 }, (_, group) => {
    const [start = -1, end = -1] = [search.found[2 * group], search.found[2 * group + 1]]
    return start < 0 ? null : text.slice(start, end)
  })
}

const pieces =
  "a b . ^ $ | ( ) * + ? 1 (?: [ab] [^a] [a-c\\d] \\d \\w \\W \\b \\B \\. {2} {1,2} {0,} ] *? +? \\n 😀 [a-z😀]".split(
    " ",
  )

test("a pattern finds what JavaScript's own engine finds, with the same groups", () => {
  let compared = 0
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom(...pieces), { maxLength: 8 }),
      fc.array(fc.constantFrom("a", "a", "b", "1", " ", "\n", "😀", "."), { maxLength: 10 }),
      (parts, letters) => {
        const pattern = parts.join("")
        const text = letters.join("")
        const own = re2Pattern(pattern)
        let theirs: RegExp
        try {
          theirs = new RegExp(pattern, "u")
        } catch {
          return
        }
        if ("problem" in own) return
        // V8 also looks between the halves of a surrogate pair, and forgets the groups of a round that it repeats.
        if (pattern.includes("\\B") || /\)[*+{?]/.test(pattern)) return
        compared++
        const found = theirs.exec(text)
        assert.deepEqual(
          find(pattern, text),
          found && [...found].map((one) => one ?? null),
          JSON.stringify([pattern, text]),
        )
      },
    ),
    { numRuns: cases(4000) },
  )
  assertOften(compared, 300, "patterns were compared")
})

const right: readonly (readonly [string, string, readonly (string | null)[] | null])[] = [
  ["(?i)straße", "STRAßE", ["STRAßE"]],
  ["(?i)k", "\u212a", ["\u212a"]],
  ["(?i)[a-z]+", "\u017fS", ["\u017fS"]],
  ["a(?i)b|c", "aB", ["aB"]],
  ["(?i:a)b", "AB", null],
  ["(?i)a(?-i)b", "Ab", ["Ab"]],
  ["^b$", "a\nb", null],
  ["(?m)^b$", "a\nb", ["b"]],
  ["a.b", "a\nb", null],
  ["(?s)a.b", "a\nb", ["a\nb"]],
  ["(?U)a+", "aaa", ["a"]],
  ["(?U)a+?", "aaa", ["aaa"]],
  ["(?P<year>\\d{4})-(?<month>\\d\\d)", "on 2026-11", ["2026-11", "2026", "11"]],
  ["\\Qa.b\\E+", "a.bb", ["a.bb"]],
  ["\\x41\\x{1F600}\\101", "A😀A", ["A😀A"]],
  ["[[:alpha:]]+[[:^alpha:]]", "é ab1", ["ab1"]],
  ["\\p{Greek}+\\PL", "x αβ!", ["αβ!"]],
  ["\\p{^Greek}", "α.", ["."]],
  ["[\\]a-]+", "-]a", ["-]a"]],
  ["\\A\\w+\\z", "ab", ["ab"]],
  ["(a)|(b)", "b", ["b", null, "b"]],
  ["a|ab", "ab", ["a"]],
  [" *b", "a  b", ["  b"]],
  ["\\W*b", "a.\nb", [".\nb"]],
  ["(a*)*", "b", ["", null]],
  ["", "b", [""]],
]

for (const [pattern, text, found] of right) {
  test(`${pattern} in ${JSON.stringify(text)}`, () => {
    const [whole, ...groups] = find(pattern, text) ?? []
    const [expected, ...others] = found ?? []
    assert.equal(whole, expected)
    if (pattern !== "(a*)*") assert.deepEqual(groups, others)
  })
}

for (const pattern of [
  "(",
  ")",
  "a**",
  "a+*",
  "*a",
  "[z-a]",
  "[a",
  "a{2,1}",
  "a{1001}",
  "(?=a)",
  "(?!a)",
  "(?<=a)",
  "\\1",
  "\\y",
  "(?x)a",
  "\\p{Foo}",
  "[[:foo:]]",
  "\\",
  "(?P<a>x)(?P<a>y)",
  "(?P<>x)",
  "(?i",
  "(?)",
  "\\x{110000}",
  "((a{100}){100}){100}",
  "(".repeat(300),
  "a".repeat(10_001),
]) {
  // prettier-ignore
  test(`${pattern.slice(0, 30)} is refused, with what is wrong`, () => {
    const found = re2Pattern(pattern)
    assert.ok("problem" in found && found.problem.length > 5 && found.start <= found.end, JSON.stringify(found))
  })
}

test("steps grow with the text and not faster", () => {
  for (const pattern of ["^(a+)+$", "(x+x+)+y", "(a|aa)+$", "\\Ba.*z", "(?:a?){50}a{50}", "(.*)(.*)(.*)z"]) {
    const program = re2Pattern(pattern)
    assert.ok(!("problem" in program), pattern)
    const steps = (length: number): number => {
      const search = new PatternSearch(program, `${"a x".repeat(length / 3)}!`, 0, program.groups)
      search.run(Infinity)
      return search.steps
    }
    assert.ok(steps(6000) < 2.5 * steps(3000), `${pattern}: ${steps(3000)}, ${steps(6000)}`)
  }
})

test("a search that is interrupted goes on", () => {
  const program = re2Pattern("(b+)c")
  assert.ok(!("problem" in program))
  const search = new PatternSearch(program, `${"abb ".repeat(1000)}bbbc`, 0, 1)
  let turns = 0
  while (search.run(3) === undefined) turns++
  assert.ok(turns > 1 && search.found[0] === 4000 && search.found[3] === 4003, String([turns, ...search.found]))
})
