import assert from "node:assert/strict"
import { describe, test } from "node:test"
import { fc } from "../../test/support/fast-check.ts"
import { blockTexts, dedentBlock, escapeLength, unescape } from "./string-value.ts"

describe("escapeLength", () => {
  test("of every escape", () => {
    for (const escape of ["\\\\", '\\"', "\\n", "\\r", "\\t", "\\{", "\\}"]) assert.equal(escapeLength(escape, 0), 2)
    assert.equal(escapeLength("a\\u{41}b", 1), 6)
    assert.equal(escapeLength("\\u{10FFFF}", 0), 10)
    assert.equal(escapeLength("\\u{0}", 0), 5)
  })

  test("is 0 where there is none", () => {
    for (const none of [
      "\\q",
      "\\",
      "\\'",
      "\\u",
      "\\u{",
      "\\u{}",
      "\\u{110000}",
      "\\u{D800}",
      "\\u{DFFF}",
      "\\u{0000041}",
    ]) {
      assert.equal(escapeLength(none, 0), 0, none)
    }
    assert.equal(escapeLength("\\u{41", 0), 0)
    assert.equal(escapeLength("\\u{ 41}", 0), 0)
  })
})

describe("unescape", () => {
  test("resolves escapes, and leaves unknown ones as they are written", () => {
    assert.equal(unescape("a\\nb\\\\n\\{\\{\\u{1F600}\\t"), "a\nb\\n{{😀\t")
    assert.equal(unescape("\\q\\\\q\\u{xyz}\\"), "\\q\\q\\u{xyz}\\")
    assert.equal(unescape(""), "")
  })

  test("gives back whatever was escaped", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), (value) => {
        const escaped = value
          .replace(/[\\"{}]/g, "\\$&")
          .replaceAll("\n", "\\n")
          .replaceAll("\r", "\\r")
        assert.equal(unescape(escaped), value)
      }),
    )
  })
})

describe("blockTexts", () => {
  const value = (raw: string) => blockTexts([raw])[0]

  test("drops the first line break, and the last with the blanks behind it", () => {
    assert.equal(value("\na\n"), "a")
    assert.equal(value("\na\n    "), "a")
    assert.equal(value("a"), "a")
    assert.equal(value(" a "), " a ")
    assert.equal(value(""), "")
    assert.equal(value("\n"), "")
    assert.equal(value("\n    "), "")
    assert.equal(value("\n\n"), "")
    assert.equal(value("\n\n\n"), "\n")
    assert.equal(value("  \n  a\n"), "a")
  })

  test("removes the indentation that all lines share; blank lines do not count", () => {
    assert.equal(value("\n    a\n      b\n\n    c\n"), "a\n  b\n\nc")
    assert.equal(value("\n    a\n  \n    b\n"), "a\n\nb")
    assert.equal(value("\n    a\n      \n    b\n"), "a\n  \nb")
    assert.equal(value("\n  a\n    b\n"), "a\n  b")
    assert.equal(value("\n\ta\n\t\tb\n"), "a\n\tb")
    assert.equal(value("\n\ta\n    b\n"), "\ta\n    b")
    assert.equal(value("\n  \ta\n  b\n"), "\ta\nb")
  })

  test("a first line behind the quotes has no indentation to share", () => {
    assert.equal(value("a\n    b\n      c\n"), "a\nb\n  c")
    assert.equal(value("  a\n    b"), "  a\nb")
  })

  test("line ends are LF, whatever the file has", () => {
    assert.equal(value("\r\n    a\r\n    b\r\n    "), "a\nb")
    assert.equal(value("\r    a\r    b\r"), "a\nb")
    assert.equal(value("\n    a\\r\\n\n"), "a\r\n")
  })

  test("escapes are text: they indent nothing, and end no line", () => {
    assert.equal(value("\n    \\ta\n    b\n"), "\ta\nb")
    assert.equal(value("\n    a\\n  b\n    c\n"), "a\n  b\nc")
    assert.equal(value("\n\\u{20}\\u{20}a\n  b\n"), "  a\n  b")
  })

  test("interpolations are text too", () => {
    assert.deepEqual(blockTexts(["\n    a ", " b\n    ", "\n"]), ["a ", " b\n", ""])
    assert.deepEqual(blockTexts(["\n    ", "\n      ", "\n    "]), ["", "\n  ", ""])
    assert.deepEqual(blockTexts(["", "\n    a\n"]), ["", "\na"])
    assert.deepEqual(blockTexts(["\n    a\n", "\n    b\n"]), ["    a\n", "\n    b"])
    assert.deepEqual(blockTexts(["\n  ", "  "]), ["", "  "])
  })
})

test("indenting a block anew does not change its value", () => {
  const line = fc.stringMatching(/^[ \t]{0,3}[a-z{}]{0,5}$/)
  const indentation = fc.stringMatching(/^[ \t]{0,6}$/)
  fc.assert(
    fc.property(fc.array(line, { minLength: 1, maxLength: 6 }), indentation, (lines, indent) => {
      const isBlank = (text: string) => /^[ \t]*$/.test(text)
      const flush = dedentBlock([`\n${lines.join("\n")}\n`])
      const indented = flush[0]?.split("\n").map((text) => (isBlank(text) ? text : indent + text)) ?? []
      const again = dedentBlock([`\n${indented.join("\n")}\n${indent}`])
      const comparable = (all: readonly string[]) =>
        all
          .join("")
          .split("\n")
          .map((text) => (isBlank(text) ? "" : text))
      assert.deepEqual(comparable(again), comparable(flush))
    }),
  )
})
