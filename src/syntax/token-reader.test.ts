import assert from "node:assert/strict"
import { describe, test } from "node:test"
import { lex } from "./lexer.ts"
import { lacksList, skipList } from "./missing-brace.ts"
import { numberValue } from "./number-text.ts"
import { parse } from "./parser.ts"
import type { Token } from "./token.ts"
import { TokenReader } from "./token-reader.ts"
import { sourceNesting } from "../base/limits.ts"

const readerOf = (text: string) => new TokenReader(text, lex(text))
const reported = (reader: TokenReader) =>
  reader.mistakes.diagnostics().map(({ message, span }) => [message, span.start, span.end])
const never = () => false
const takeName = (reader: TokenReader): Token | undefined => reader.accept("name")

describe("looking and taking", () => {
  test("the reader stays at the end", () => {
    const reader = readerOf("a b")
    assert.equal(reader.previous, reader.token)
    assert.equal(reader.take().kind, "name")
    assert.equal(reader.take().kind, "name")
    assert.equal(reader.take().kind, "end")
    assert.equal(reader.take().kind, "end")
    assert.equal(reader.peek(10).kind, "end")
    assert.equal(reader.textOf(reader.previous), "b")
  })

  test("a word is a whole name", () => {
    const reader = readerOf('input inputs inpu "input"')
    assert.deepEqual(
      [0, 1, 2, 3].map((ahead) => reader.isWord("input", reader.peek(ahead))),
      [true, false, false, false],
    )
  })

  test("columns and adjacency", () => {
    const reader = readerOf("a\n  b-c\r\td")
    reader.take()
    assert.equal(reader.column(reader.token), 3)
    assert.equal(reader.isAdjacent, false)
    reader.take()
    assert.equal(reader.isAdjacent, true)
    reader.take()
    reader.take()
    assert.equal(reader.column(reader.token), 2)
  })

  test("braces that are open are counted over the whole file, strings included", () => {
    assert.equal(readerOf("a { b { }").lacksBrace, true)
    assert.equal(readerOf("a { } }").lacksBrace, false)
    assert.equal(readerOf('a { "{{ { b } }}"').lacksBrace, true)
    assert.equal(readerOf('a { "{" }').lacksBrace, false)
  })
})

describe("reporting", () => {
  test("at the token, or at the last one if that is on another line", () => {
    const here = readerOf("a b")
    here.take()
    here.expected("`:`")
    assert.deepEqual(reported(here), [["Expected `:`, found `b`", 2, 3]])
    const before = readerOf("a\nb")
    before.take()
    before.expected("`:`")
    assert.deepEqual(reported(before), [["Expected `:`", 0, 1]])
    const end = readerOf('"""\n\n"""')
    end.take()
    end.expected("`:`")
    assert.deepEqual(reported(end), [["Expected `:`, but the file ends here", 7, 8]])
  })

  test("once for each place", () => {
    const reader = readerOf("a")
    reader.report(reader.token, "One")
    reader.report(reader.token, "Two")
    assert.deepEqual(reported(reader), [["One", 0, 1]])
  })

  test("not what the lexer has reported", () => {
    const reader = readerOf("\0")
    reader.expected("a name")
    assert.deepEqual(reported(reader), [["A NUL character is not text", 0, 1]])
  })

  test("with the path of the declaration around it", () => {
    const reader = readerOf("a b c d")
    reader.report({ start: 4, end: 5 }, "Between")
    reader.report({ start: 0, end: 1 }, "First")
    reader.mistakes.region({ start: 0, end: 1 }, "agent.a")
    reader.report({ start: 6, end: 7 }, "Last")
    reader.mistakes.region({ start: 6, end: 7 }, "output")
    assert.deepEqual(
      reader.mistakes.diagnostics().map(({ path, message }) => [path, message]),
      [
        ["agent.a", "First"],
        ["", "Between"],
        ["output", "Last"],
      ],
    )
  })

  test("a thousand times at most", () => {
    const reader = readerOf("a ".repeat(3_000))
    while (!reader.is("end")) reader.report(reader.take(), "No")
    const diagnostics = reader.mistakes.diagnostics()
    assert.equal(diagnostics.length, 1_001)
    assert.equal(diagnostics.at(-1)?.message, "Too many syntax errors: the rest is not shown")
  })
})

describe("skipping", () => {
  test("a bracket with all that is in it", () => {
    for (const text of ["[a, (b { c }) ] d", "{ [ } ] } d", '"{{ [ }}" d', '"a {{ { b }} c {{ d }}" d']) {
      const reader = readerOf(text)
      reader.skipBalanced()
      assert.equal(reader.textOf(reader.token), "d", text)
    }
  })

  test("a list without its opening bracket", () => {
    const list = readerOf("a, (b, [c]) ] d")
    assert.ok(lacksList(list, "["))
    assert.equal(list.textOf(list.token), "d")
    // A bracket that never comes does not keep the reader busy for ever.
    for (const text of ["a", '"{{ a ] }}"', "(a ]"]) {
      const reader = readerOf(text)
      skipList(reader, "[")
      assert.ok(reader.is("end"), text)
    }
  })

  test("a bracket that stands for a brace and is never closed, up to the end of a text without a last line break", () => {
    const { diagnostics } = parse("schema s {\n  v: variant kind {\n    a [\n      b: string\n    }\n  }\n}")
    assert.equal(diagnostics[0]?.message, "Expected `{` after the case name `a`")
  })

  test("the end of a text whose beginning was taken, at the second try", () => {
    for (const text of ['"{{ a }}" d', '"{{ a }} b {{ c }}" d']) {
      const reader = readerOf(text)
      while (!reader.is("tail") && !reader.is("middle")) reader.take()
      const end = reader.token
      reader.skipBalanced()
      assert.equal(reader.token, end)
      reader.skipBalanced()
      assert.notEqual(reader.token, end)
      while (!reader.is("end")) reader.skipBalanced()
    }
  })

  test("to the next item: a comma, another line, or the end of the block", () => {
    const after = (text: string) => {
      const reader = readerOf(text)
      reader.skipToNextItem()
      return text.slice(reader.token.start)
    }
    assert.equal(after("a b, c"), ", c")
    assert.equal(after("a b\nc"), "c")
    assert.equal(after("a (b\nc) d\ne"), "e")
    assert.equal(after("a b\n?? c\nd"), "d")
    assert.equal(after("a } b"), "} b")
    assert.equal(after("a b"), "")
  })
})

describe("blocks", () => {
  test("items with or without commas", () => {
    const reader = readerOf("{ a b, c\nd, }")
    const block = reader.block(takeName, never, "a name")
    assert.equal(block?.items.length, 4)
    assert.deepEqual(reported(reader), [])
  })

  test("what is not an item is reported once a line, and skipped", () => {
    const reader = readerOf("{ a\n1 2 3\nb, ;\n, c }")
    const block = reader.block(takeName, never, "a name")
    assert.deepEqual(
      block?.items.map((token) => reader.textOf(token)),
      ["a", "b", "c"],
    )
    assert.deepEqual(reported(reader), [
      ["Expected a name, found `1`", 4, 5],
      ["Expected a name, found `;`", 13, 14],
    ])
  })

  test("an unclosed one is reported, the innermost of several", () => {
    const parse = (reader: TokenReader): unknown =>
      reader.accept("name") ?? reader.block(parse, never, "a name or a block")
    const reader = readerOf("{ a { b { c")
    reader.block(parse, never, "a name or a block")
    assert.deepEqual(reported(reader), [["This `{` is not closed", 8, 9]])
  })

  test("of several that look closed, the one whose brace is out of place", () => {
    const parse = (reader: TokenReader): unknown =>
      reader.accept("name") ?? reader.block(parse, never, "a name or a block")
    const reader = readerOf("{\n  {\n    a {\n      b\n  }\n  c\n}")
    reader.block(parse, never, "a name or a block")
    assert.deepEqual(reported(reader), [["This `{` is not closed", 12, 13]])
  })

  test("no deeper than the limit", () => {
    const parse = (reader: TokenReader): unknown => reader.block(parse, never, "a block")
    const reader = readerOf("{".repeat(5_000) + "}".repeat(5_000))
    reader.block(parse, never, "a block")
    assert.deepEqual(reported(reader), [
      [`This is nested more than ${sourceNesting} levels deep`, sourceNesting, sourceNesting + 1],
    ])
    assert.equal(reader.is("end"), true)
  })
})

test("numbers as they are written", () => {
  const values: Record<string, number | undefined> = {
    "0": 0,
    "-0.5": -0.5,
    "4_000": 4_000,
    "1_0.2_5e1_0": 10.25e10,
    "007": 7,
    "0e5": 0,
    "1e999": Number.POSITIVE_INFINITY,
    "0x1F": undefined,
    "0b1": undefined,
    "2fa": undefined,
    "1_": undefined,
    "1__0": undefined,
    "1e": undefined,
    "1_e5": undefined,
  }
  for (const [written, value] of Object.entries(values)) assert.equal(numberValue(written), value, written)
})

test("brackets of mixed kinds do not keep the reader where it is", () => {
  for (const text of [
    "input { a: b, (c] )}",
    "input { a: b {c] }",
    'output { a: b, "{{ c ]',
    "output { a: x, [ (] ] ] ]",
  ]) {
    assert.ok(parse(text).diagnostics.length > 0, text)
  }
})
