import assert from "node:assert/strict"
import { describe, test } from "node:test"
import { lex } from "./lexer.ts"
import { maxSyntaxErrors } from "./string-lexer.ts"

// What needs a text that a case file cannot hold: one without a last line break, or that is not UTF-8, or is very long.

const reported = (text: string) => lex(text).diagnostics.map(({ message, span }) => [message, span.start, span.end])
const kinds = (text: string) => lex(text).tokens.map(({ kind }) => kind)

describe("the end of the text", () => {
  test("closes what is open", () => {
    assert.deepEqual(kinds(""), ["end"])
    assert.deepEqual(kinds("a"), ["name", "end"])
    assert.deepEqual(kinds('"a'), ["string", "end"])
    assert.deepEqual(kinds('"a {{ b'), ["head", "name", "tail", "end"])
    assert.deepEqual(kinds('"""{{ "{{ b'), ["head", "head", "name", "tail", "tail", "end"])
    assert.deepEqual(kinds('"a {{ b }}'), ["head", "name", "tail", "end"])
  })

  test("is reported once, at what is not closed", () => {
    assert.deepEqual(reported('a: "b'), [["This string is not closed before the end of the line", 3, 4]])
    assert.deepEqual(reported('"'), [["This string is not closed before the end of the line", 0, 1]])
    assert.deepEqual(reported('"""'), [["This block string is not closed", 0, 3]])
    assert.deepEqual(reported('"""\n  a'), [["This block string is not closed", 0, 3]])
    assert.deepEqual(reported('"{{'), [["This `{{` is not closed before the end of the line", 1, 3]])
    assert.deepEqual(reported('"""{{ a'), [["This `{{` is not closed", 3, 5]])
    assert.deepEqual(reported('"""{{ """{{ a'), [["This `{{` is not closed", 3, 5]])
    assert.deepEqual(reported('"a {{ b }} c'), [["This string is not closed before the end of the line", 0, 1]])
    assert.deepEqual(reported('"\\'), [["This string is not closed before the end of the line", 0, 1]])
  })

  test("marks the last token when something around it was not closed", () => {
    for (const text of ['"a', '"""a', '"{{ a', "/*", '"""{{ a']) {
      assert.equal(lex(text).tokens.at(-1)?.unclosed, true, text)
    }
    for (const text of ["", "a", '"a\n', '"a"', "{"]) assert.equal(lex(text).tokens.at(-1)?.unclosed, false, text)
  })
})

describe("what is no text", () => {
  test("is reported everywhere, run by run", () => {
    assert.deepEqual(reported('a \uD800\uDC00 "\uDC00\uD800" // \uD800\n\0\0'), [
      ["Half of a surrogate pair is not text", 6, 8],
      ["Half of a surrogate pair is not text", 13, 14],
      ["A NUL character is not text", 15, 17],
    ])
  })

  test("ends with the text, also when that is a slice of a longer one and the code is compiled", () => {
    const slice = `${"a ".repeat(40)}😀`.slice(0, 81)
    for (let time = 0; time < 5_000; time++) assert.equal(lex(slice).tokens.at(-2)?.end, 81)
  })

  test("is a token of its own", () => {
    assert.deepEqual(kinds("é\0é\uD800😀"), ["bad", "bad", "bad", "bad", "bad", "end"])
  })
})

test("errors beyond what anybody reads are not kept", () => {
  const { diagnostics, tokens } = lex('"\\q"'.repeat(5_000))
  assert.equal(tokens.length, 5_001)
  assert.equal(diagnostics.length, maxSyntaxErrors + 1)
})

test("what is never closed is looked for again a few times only", () => {
  // Each of these opens, and looks closed by the next one, until the end of the text tells that one of them was not.
  const text = 'a: """{{ b\n'.repeat(2_001)
  const { tokens, diagnostics } = lex(text)
  assert.ok(diagnostics.length > 1)
  assert.equal(tokens.at(-1)?.end, text.length)
})

test("a file that is right is read once: nothing in it is taken for a mistake", () => {
  const text =
    'a: """\n    {{ b ?? """\n        c: """ }}\n    Answer: """\nd: """\n    {{ match e {\n        f\n    } }}\n"""\n'
  assert.deepEqual(reported(text), [])
})
