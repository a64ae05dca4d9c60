import assert from "node:assert/strict"
import { describe, test } from "node:test"
import { beforeForeignBrackets } from "./unclosed-string.ts"
import { parse } from "./parser.ts"

describe("a one-line string without its quote ends", () => {
  const rest = (line: string) => line.slice(beforeForeignBrackets(line, 0, line.length))

  test("with the line", () => {
    for (const line of ["", "a", "a (b)", "a {b} [c]", "a ) b", "(a", "a, "]) assert.equal(rest(line), "", line)
  })

  test("or before the brackets that close nothing in it", () => {
    assert.equal(rest("a }"), "}")
    assert.equal(rest("a (b) }, ]"), "}, ]")
    assert.equal(rest("a {b} }"), "}")
    assert.equal(rest("a] }"), "] }")
  })
})

describe("a block string without its quotes ends", () => {
  const kept = (text: string) => {
    const { tree, diagnostics } = parse(text)
    assert.deepEqual(
      diagnostics.map(({ message }) => message),
      ["This block string is not closed"],
    )
    const string = tree.tokens.find(({ unclosed }) => unclosed)
    return string === undefined ? undefined : text.slice(string.start, string.end)
  }

  test("before the first line of code that is no deeper than its own", () => {
    assert.equal(kept('output {\n    a: """\n        b\n    c: 1\n}\n'), '"""\n        b')
    assert.equal(kept('output {\n    a: """\n        b\n}\n'), '"""\n        b')
    assert.equal(kept('output {\n\ta: """\n\t\tb\n\n\t\tc\n\tc: 1\n}\n'), '"""\n\t\tb\n\n\t\tc')
    assert.equal(kept('output {\r\n    a: """\r\n        b\r\n    c: 1\r\n}\r\n'), '"""\r\n        b')
    assert.equal(
      kept('agent a {\n    x: """\n        b\n\nagent b {\n    y: 1\n}\n'.replace("\n\n", "\n}\n")),
      '"""\n        b',
    )
  })

  test("before the line that looks like the beginning of another one, if the text is not indented", () => {
    assert.equal(kept('output {\n    a: """\nb\n    c: """\n        d\n    """\n}\n'), '"""\nb')
    assert.equal(kept('output {\r\n    a: """\r\nb\r\n    c: """\r\n        d\r\n    """\r\n}\r\n'), '"""\r\nb')
  })

  test("with the file, if nothing looks like its end", () => {
    assert.equal(kept('output { a: """\n  b\n  c'), '"""\n  b\n  c')
  })
})
