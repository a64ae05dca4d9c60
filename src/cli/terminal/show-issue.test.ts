import { Screen } from "./screen.ts"
import assert from "node:assert/strict"
import { test } from "node:test"
import { diagnostic, toIssue } from "../../source/diagnostic.ts"
import { LineMap } from "../../source/line-map.ts"
import { showIssue } from "./show-issue.ts"
import { paletteFor } from "./terminal.ts"

const plain = paletteFor(new Screen({ write: () => true }), {})

/** Shows a problem with what stands between `«` and `»` in a text. */
function show(marked: string, hint?: string): string[] {
  const start = marked.indexOf("«")
  const end = marked.indexOf("»") - 1
  const text = marked.replace("«", "").replace("»", "")
  const lines = new LineMap(text)
  const issue = toIssue(
    diagnostic("unknown-reference", "output.x", { start, end }, "Unknown reference: x", hint),
    lines,
  )
  return showIssue("flow.wire", text, lines, issue, plain).split("\n")
}

test("place, sentence, code, the line underlined, the hint", () => {
  assert.deepEqual(show("output {\n    x: «agent.sum»\n}\n", "Did you mean agent.some?"), [
    "flow.wire:2:8: error: Unknown reference: x [unknown-reference]",
    "  2 |     x: agent.sum",
    "    |        ^^^^^^^^^",
    "    = Did you mean agent.some?",
  ])
})

test("an empty range has one mark, also at the end of the file", () => {
  assert.deepEqual(show("input {\n«»").slice(1), ["  2 | ", "    | ^"])
})

test("a range of several lines is underlined to the end of its first", () => {
  assert.deepEqual(show("a: «[\n  1,\n]» // b\n").slice(1), ["  1 | a: [", "    |    ^"])
})

test("the underline is under its text: tabs, wide characters, combining marks, CRLF", () => {
  assert.deepEqual(show("\t\tx: «y»\r\n").slice(1), ["  1 |   x: y", "    |      ^"])
  assert.deepEqual(show('"日本" «語x» "y"\n').slice(1), ['  1 | "日本" 語x "y"', "    |        ^^^"])
  assert.deepEqual(show('"e\u0301" «y»\n').slice(1), ['  1 | "e\u0301" y', "    |     ^"])
})

test("of a long line only the part around the problem is shown", () => {
  const [, source, marks] = show(`x: "${"a".repeat(5000)}«bad»${"c".repeat(5000)}"`)
  assert.ok(source !== undefined && marks !== undefined)
  assert.ok(source.length < 120)
  assert.equal(source.slice(marks.indexOf("^"), marks.lastIndexOf("^") + 1), "bad")
  const [, whole, under] = show(`x: «"${"a".repeat(5000)}"»`)
  assert.ok(whole !== undefined && under !== undefined)
  assert.ok(whole.length < 120 && under.length <= whole.length)
})

test("nothing in a source or a name reaches the terminal as a command", () => {
  const text = "\u001b[2J x"
  const lines = new LineMap(text)
  const issue = toIssue(diagnostic("syntax-error", "", { start: 0, end: 1 }, "Bad \u001b[31m", "\u0007"), lines)
  const shown = showIssue("a\u001b]0;t\u0007.wire", text, lines, issue, plain)
  assert.doesNotMatch(shown.replaceAll("\n", ""), /\p{Cc}/u)
})
