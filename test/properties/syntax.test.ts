import assert from "node:assert/strict"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { describe, test } from "node:test"
import { fc } from "../support/fast-check.ts"
import { assertOften, atStrength, cases, soakTest } from "../support/strength.ts"

import type { Diagnostic } from "../../src/source/diagnostic.ts"
import { lex } from "../../src/syntax/lexer.ts"
import { parseWithTests } from "../../src/syntax/test-parser.ts"
import type { Token } from "../../src/syntax/token.ts"
import { isBlockString } from "../../src/syntax/token.ts"
import type { Tree } from "../../src/syntax/tree.ts"
import { readCase } from "../cases/case-file.ts"
import { assertSameTree } from "./same-tree.ts"
import { wireSource } from "./wire-source.ts"

const path = process.env["FC_PATH"]
const parameters = {
  numRuns: cases(300),
  ...(path === undefined ? {} : { path }),
}

/** The sources of all cases of the parser: the valid ones, and the others. */
const corpus = readCorpus()

function readCorpus(): { file: string; source: string; valid: boolean }[] {
  const folder = join(import.meta.dirname, "..", "cases", "parse")
  return readdirSync(folder).map((file) => {
    const { source } = readCase(readFileSync(join(folder, file), "utf8"))
    return { file, source, valid: parseWithTests(source).diagnostics.length === 0 }
  })
}

const pieces = [
  ["", " ", "\n", "\r\n", "\t", "\0", "\uD800", "\uFEFF", "é", "😀", "'", "`", "?", "=", "=>", ";", "%", "\\", "\\q"],
  [
    "{",
    "}",
    "[",
    "]",
    "(",
    ")",
    ":",
    ",",
    ".",
    "?.",
    "??",
    "*",
    "#",
    "|",
    "-",
    "/",
    '"',
    '"""',
    "{{",
    "}}",
    "//",
    "/*",
  ],
  [
    "a",
    "_",
    "input",
    "output",
    "schema",
    "agent",
    "agent x {\n",
    "model",
    "model m from p {\n",
    "tool",
    "from mcp.",
    "mcp",
  ],
  [
    "for",
    "in",
    "as",
    "match ",
    "call ",
    "asset ",
    "maybe ",
    "enum {",
    "variant k {",
    "uses: [",
    "context(",
    "a: ",
    '"a": ',
  ],
  [
    "1",
    "-1",
    "2fa",
    "1_0",
    "true",
    '"x"',
    '"{{ a }}"',
    '"""\n  x\n"""',
    "/// doc\n",
    "// note\n",
    "*/",
    "\\u{41}",
    "\\u{",
  ],
].flat()

/** What a text may be made of to keep a careless reader busy. */
const repeated = [
  [
    "{",
    "}",
    "[",
    "]",
    "(",
    ")",
    '"',
    "'",
    "`",
    "“",
    "\\",
    "/",
    "#",
    ";",
    ",",
    ".",
    ":",
    "|",
    "*",
    "-",
    "?",
    "=",
    "_",
    "1",
  ],
  [
    " ",
    "\n",
    "\r",
    "\t",
    "x",
    "x ",
    "a\n",
    "a: ",
    "a:\n",
    "a: b\n",
    "é",
    "\0",
    "\uD800",
    "\u00a0",
    "1_",
    "1.",
    "1e",
    "-1",
  ],
  ["{{", "}}", '{{"', '"{{', '"{{ a }} ', '"{{ a b }} ', '"{{ a }', '"{{\n', '"}\n', '"]\n'],
  [
    '"""',
    '"""\n',
    '"""{{',
    '"""{{\n',
    '"""{{ a\n',
    '"""{{ a }\n',
    '"""{{\n}\n',
    'a: """\n',
    '    a: """\n        b\n',
    '"""\n}\n',
  ],
  ["/*", "/* */", "//", "///\n", "//\n", '"\\u', '"\\u{', '"\\q', '"\\'],
  [
    "a.",
    "a?.",
    "a[0]",
    "a#b",
    "a ?? ",
    "a | ",
    "maybe ",
    "asset ",
    "match a {",
    "match a { _ ",
    "call a {",
    "enum {",
    "(a, ",
  ],
  ["{ a: ", "[{ a: ", "[[", "([", "variant k { c {", "a {", "a {\n", "a { }\n", "a: {\n}\n", "]}", "[}", "{]"],
  [
    "input {",
    "input {\n",
    "agent a {\n",
    "schema a {",
    "tool a from ",
    "tool a\n",
    "from mcp.a {\n",
    "agent\n",
    "output {\n}\n",
  ],
  ["/// a\n,", "a /// b\n", "'a' ", "a-", "a-1", "tool a-", "tool a:b\n", "A-B: 1\n"],
].flat()

describe("any text is read", () => {
  test("random text", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 200 }), (source) => checkAll(source)),
      parameters,
    )
  })

  test("random bytes, as far as they are UTF-8", () => {
    const decoder = new TextDecoder("utf-8", { ignoreBOM: true })
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => checkAll(decoder.decode(bytes))),
      parameters,
    )
  })

  test("pieces of the language in any order", () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...pieces), { maxLength: 60 }), (all) => checkAll(all.join(""))),
      { ...parameters, numRuns: parameters.numRuns * 5 },
    )
  })

  test("random sources", () => {
    fc.assert(
      fc.property(wireSource("comments"), (source) => checkAll(source)),
      parameters,
    )
  })

  test("sources cut off at every character", () => {
    for (const { source } of shortCorpus()) {
      for (let end = 0; end < source.length; end++) checkAll(source.slice(0, end))
    }
  })

  test("sources with any one token removed, doubled or swapped with the next", () => {
    for (const { source } of shortCorpus()) {
      const { tokens } = lex(source)
      for (const [index, token] of tokens.entries()) {
        const next = tokens[index + 1]
        const written = source.slice(token.start, token.end)
        checkAll(source.slice(0, token.start) + source.slice(token.end))
        checkAll(`${source.slice(0, token.end)} ${written}${source.slice(token.end)}`)
        if (next === undefined) continue
        const between = source.slice(token.end, next.start)
        const swapped = source.slice(next.start, next.end) + between + written
        checkAll(source.slice(0, token.start) + swapped + source.slice(next.end))
      }
    }
  })

  test("sources with characters removed, put in or swapped", () => {
    const edit = fc.tuple(fc.nat(), fc.nat(3), fc.constantFrom(...pieces))
    fc.assert(
      fc.property(fc.constantFrom(...corpus), fc.array(edit, { minLength: 1, maxLength: 4 }), ({ source }, edits) => {
        let damaged = source
        for (const [at, length, piece] of edits) {
          const start = at % (damaged.length + 1)
          damaged = damaged.slice(0, start) + piece + damaged.slice(start + length)
        }
        checkAll(damaged)
      }),
      { ...parameters, numRuns: parameters.numRuns * 5 },
    )
  })
})

describe("mistakes", () => {
  test("a single missing bracket, quote or colon makes few messages, however long the file is", () => {
    const { source } = only("whole-workflow.wire")
    let most: { count: number; at: number } = { count: 0, at: 0 }
    for (const token of lex(source).tokens) {
      if (!/^(?:[{}[\]():,.]|string|head|tail)$/.test(token.kind)) continue
      // The last character of a string, which is a quote.
      const at = token.kind.length > 1 ? token.end - 1 : token.start
      const { diagnostics } = parseWithTests(source.slice(0, at) + source.slice(at + 1))
      if (diagnostics.length > most.count) most = { count: diagnostics.length, at }
    }
    assert.ok(most.count <= 3, `${most.count} messages when the character at ${most.at} is missing`)
  })

  test("a character that no token may contain is reported everywhere", () => {
    for (const { source, valid, file } of shortCorpus()) {
      if (!valid) continue
      const gaps = lex(source).tokens.filter((token) => token.comments.length === 0)
      for (const { start } of gaps) {
        const { diagnostics } = parseWithTests(`${source.slice(0, start)} ^ ${source.slice(start)}`)
        assert.ok(diagnostics.length > 0, `${file}: a ^ before ${start} is not reported`)
      }
    }
  })
})

/**
 * Branches of a match that stand in one line and look like a mistake: `not` of another language before its value, and `_` as the value
 * of a branch before the next one.
 */
const looksWrong =
  /\b(?:not|if|else|and|or)\s+(?!(?:for|in|when|by|descending|_)\b)["\w(!]|[-!&|?=<>+*/%:]\s*_(?!\w)|(?<!\w)_\s*\[/

describe("layout", () => {
  test("blanks and line breaks between tokens mean nothing", () => {
    const layouts = fc.infiniteStream(fc.constantFrom(" ", "\n", "\n    ", "\t", "\r\n", " \n\n  "))
    let checked = 0
    fc.assert(
      fc.property(wireSource("breaks"), layouts, (source, blanks) => {
        const { tree, diagnostics } = parseWithTests(source)
        if (diagnostics.length > 0 || looksWrong.test(source)) return
        checked++
        const other = parseWithTests(laidOut(tree, blanks))
        assert.deepEqual(other.diagnostics, [], other.tree.text)
        assertSameTree(other.tree, tree, other.tree.text)
      }),
      { ...parameters, numRuns: parameters.numRuns * 2 },
    )
    assertOften(checked, parameters.numRuns / 2, "sources were valid")
  })

  test("nor in the sources of the cases, at the left margin or on one line", () => {
    for (const { source, valid, file } of corpus) {
      if (!valid) continue
      const { tree } = parseWithTests(source)
      for (const blanks of ["\n", " "]) {
        const other = parseWithTests(laidOut(tree, Array(tree.tokens.length).fill(blanks).values()))
        assert.deepEqual(other.diagnostics, [], `${file} laid out with ${JSON.stringify(blanks)}`)
        assertSameTree(other.tree, tree, file)
      }
    }
  })
})

describe("what is made to be slow is not", () => {
  const before = ["", "input {\n    a: ", "dynamic {\n    a: ", "agent a {\n    "]

  for (const unit of repeated.filter((_, index) => index % atStrength(12, 1) === 0)) {
    test(`${JSON.stringify(unit)} many times over`, () => {
      for (const start of before) {
        const small = start + unit.repeat(30_000 / unit.length)
        const large = start + unit.repeat(120_000 / unit.length)
        // Linear is 4, quadratic 16; what takes no time at all says nothing. What a busy machine adds, it does not add each time.
        let costs = { small: 0, large: 0 }
        const isLinear = [1, 2, 3, 4, 5, 6].some(() => {
          costs = { small: cost(small), large: cost(large) }
          return costs.large < 10 * Math.max(costs.small, 5)
        })
        assert.ok(isLinear, `${costs.small} ms, and ${costs.large} ms for four times as much`)
      }
    })
  }

  soakTest("a megabyte of what opens and never closes", () => {
    for (const unit of ["{", '"', '{{"', '"{{', "a: ", "///\n", '"""{{\n', "[", "(", "x", "agent a {\n"]) {
      const source = unit.repeat(Math.ceil(1_000_000 / unit.length))
      const { diagnostics } = parseWithTests(source)
      assert.ok(diagnostics.length > 0 || unit === "///\n", `${JSON.stringify(unit)} is no workflow`)
      assert.ok(diagnostics.length <= 1_001)
    }
    assert.equal(parseWithTests(`input { a: "${"x".repeat(1_000_000)}`).diagnostics.length, 1)
    assert.equal(parseWithTests(`output { a: "${"x".repeat(1_000_000)}" }`).diagnostics.length, 0)
  })

  test("ten thousand brackets inside one another", () => {
    for (const [open, close] of [
      ["[", "]"],
      ["(", ")"],
      ["{ a: ", " }"],
      ['"{{ ', ' }}"'],
      ['"""{{\n', '\n}}"""'],
      ["match x { _ ", " }"],
      ["asset ", ""],
      ["1 ?? ", ""],
    ] as const) {
      const source = `dynamic { a: ${open.repeat(10_000)}1${close.repeat(10_000)} }`
      const { diagnostics } = parseWithTests(source)
      assert.ok(diagnostics.length > 0 && diagnostics.length <= 3, `${open}: ${diagnostics.length} messages`)
      checkAll(source)
    }
    for (const [open, close] of [
      ["[", "]"],
      ["(", ")"],
      ["{ a: ", " }"],
      ["maybe ", ""],
      ["variant t { c { a: ", " } }"],
    ] as const) {
      const source = `input { a: ${open.repeat(10_000)}null${close.repeat(10_000)} }`
      const { diagnostics } = parseWithTests(source)
      assert.ok(diagnostics.length > 0 && diagnostics.length <= 3, `${open}: ${diagnostics.length} messages`)
      checkAll(source)
    }
  })
})

function only(file: string): { source: string } {
  const found = corpus.find((each) => each.file === file)
  assert.ok(found !== undefined, file)
  return found
}

/** Those that can be changed at every place in reasonable time; `npm test` takes a few of them. */
function shortCorpus(): typeof corpus {
  return corpus.filter(({ source }, index) => source.length < 1_200 && index % atStrength(24, 1) === 0)
}

/** CPU milliseconds that it takes to read a source. */
function cost(source: string): number {
  const before = process.cpuUsage()
  parseWithTests(source)
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}

// ------------------------------------------------------------------------------------------------------- checks

/** All that holds for any text whatever. */
function checkAll(source: string): void {
  const { tokens } = lex(source)
  const { tree, diagnostics } = parseWithTests(source)
  try {
    checkLossless(source, tokens)
    checkDiagnostics(source, diagnostics)
    checkSpans(tree)
    // Defaults of inputs have the sign, and what other languages write with it is reported.
    const isBad = ({ kind, start, end }: Token): boolean => kind === "bad" && source.slice(start, end) !== "="
    const isBroken = tokens.some((token) => isBad(token) || token.unclosed)
    assert.ok(!isBroken || diagnostics.length > 0, "what could not be read is not reported")
  } catch (error) {
    throw new Error(`in ${JSON.stringify(source.slice(0, 2_000))}`, { cause: error })
  }
}

/** Tokens, comments and the blanks between them are the whole text, in order. */
function checkLossless(source: string, tokens: readonly Token[]): void {
  let at = 0
  let isBroken = false
  const passBlanks = (end: number) => {
    // Most tokens follow another at once. A token before the end of the one before it is a mistake.
    assert.ok(end >= at, "tokens are in order")
    if (end > at) {
      const blanks = source.slice(at, end)
      assert.match(blanks, at === 0 ? /^\uFEFF?[ \t\r\n]*$/ : /^[ \t\r\n]*$/)
      if (/[\r\n]/.test(blanks)) isBroken = true
    }
    at = end
  }
  for (const token of tokens) {
    isBroken = false
    for (const comment of token.comments) {
      passBlanks(comment.start)
      at = comment.end
    }
    passBlanks(token.start)
    assert.equal(token.afterBreak, isBroken || hasBreakInBlockComment(source, token))
    assert.ok(token.end > token.start || token.unclosed || token.kind === "end")
    at = token.end
  }
  assert.equal(tokens.at(-1)?.kind, "end")
  assert.equal(at, source.length)
}

function hasBreakInBlockComment(source: string, token: Token): boolean {
  const inside = token.comments.filter(({ style }) => style === "block")
  return token.afterBreak && inside.some(({ start, end }) => /[\r\n]/.test(source.slice(start, end)))
}

function checkDiagnostics(source: string, diagnostics: readonly Diagnostic[]): void {
  const seen = new Set<string>()
  let last = 0
  for (const { code, severity, message, hint, span } of diagnostics) {
    // Functions of other languages whose arguments cannot be read here are known by their names.
    assert.ok(code === "syntax-error" || code === "unknown-function", code)
    assert.equal(severity, "error")
    assert.match(message, /^[A-Z`][^\r\n]*[^.\s]$/)
    if (hint !== undefined) assert.match(hint, /^[A-Z][^\r\n]*[.?]$/)
    assert.ok(0 <= span.start && span.start <= span.end && span.end <= source.length, "the range is inside the text")
    assert.ok(span.start >= last, "in source order")
    last = span.start
    const all = `${span.start} ${span.end} ${message}`
    assert.ok(!seen.has(all), `reported twice: ${message}`)
    seen.add(all)
  }
}

/** Every node lies inside the one around it. */
function checkSpans(tree: Tree): void {
  // Millions of nodes are looked at: what a failure says is put together only when there is one.
  const check = (value: unknown, start: number, end: number): void => {
    if (typeof value !== "object" || value === null) return
    if (Array.isArray(value)) {
      for (const item of value) check(item, start, end)
      return
    }
    const node = value as Readonly<Record<string, unknown>>
    const { start: from, end: to } = node
    let inner = { start, end }
    if ("start" in node && "end" in node) {
      if (typeof from !== "number" || typeof to !== "number") assert.fail("the range of a node is not of numbers")
      if (!(start <= from && from <= to && to <= end)) assert.fail(`${from} to ${to} is outside of ${start} to ${end}`)
      inner = { start: from, end: to }
    }
    if ("comments" in node) return
    for (const name in node) {
      const part = node[name]
      if (typeof part === "object") check(part, inner.start, inner.end)
    }
  }
  check(tree.declarations, 0, tree.text.length)
}

/** The same tokens with other blanks wherever there are some; none inside one-line strings are line breaks. */
function laidOut(tree: Tree, layouts: Iterator<string>): string {
  const { text, tokens } = tree
  const strings: boolean[] = []
  let result = ""
  let at = 0
  for (const token of tokens) {
    const gap = text.slice(at, token.start)
    if (token.kind === "tail" || token.kind === "middle") result += gap
    else if (gap !== "") {
      const blanks: string = layouts.next().value ?? " "
      const comments = token.comments.map(({ start, end }) => `${text.slice(start, end)}\n`)
      result += strings.includes(false) ? gap : ` ${comments.join("")}${blanks}`
    }
    if (token.kind === "head") strings.push(isBlockString(text, token))
    if (token.kind === "tail") strings.pop()
    result += text.slice(token.start, token.end)
    at = token.end
  }
  return result
}
