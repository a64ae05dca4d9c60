import { Screen } from "./screen.ts"
import assert from "node:assert/strict"
import { PassThrough } from "node:stream"
import { test } from "node:test"
import type { JsonObject } from "../../base/json-value.ts"
import { compile } from "../../compile.ts"
import type { AskedQuestion } from "../../log/events.ts"
import { toJsonSchema } from "../../types/json-schema.ts"
import { promptForAnswer, questionLines } from "./question-prompt.ts"
import { paletteFor } from "./terminal.ts"
import { InputEnded, TerminalLines } from "./terminal-lines.ts"

const palette = paletteFor(new Screen({ isTTY: false, write: () => true }), {})

function schemaOf(fields: string): JsonObject {
  const { program, diagnostics } = compile(`ask q { question: "?" output { ${fields} } }`)
  const type = program.asks.get("q")?.output
  assert.ok(type !== undefined, JSON.stringify(diagnostics))
  return toJsonSchema(type, program.types)
}

function question(fields: string, more: Partial<AskedQuestion> = {}): AskedQuestion {
  return {
    id: "q1",
    run_id: "r",
    kind: "ask",
    name: "review",
    question: "Publish this?\n\nA text.",
    show: null,
    to: null,
    schema: schemaOf(fields),
    asked_at: "2026-01-01T00:00:00.000Z",
    expires_at: "2026-01-02T00:00:00.000Z",
    ...more,
  }
}

const approval = question("approve: boolean, note: maybe string", {
  kind: "approval",
  name: "pay",
  question: "May pay be called?",
  tool: "pay-bill",
  server: "bank",
  endpoint: "https://bank.example.com/mcp",
  digest: "sha256:00ff",
  arguments: { amount: 3, note: "\u001b[2J" },
})

/** Types the lines, and returns the answer with all that was shown. */
async function typed(asked: AskedQuestion, lines: readonly string[], known: JsonObject = {}) {
  const left = [...lines]
  const shown: string[] = []
  const person = {
    columns: 80,
    write: (line: string) => void shown.push(line),
    read(prompt: string) {
      shown.push(prompt)
      const line = left.shift()
      return line === undefined ? Promise.reject(new Error(`Nothing to type at: ${prompt}`)) : Promise.resolve(line)
    },
  }
  const answer = await promptForAnswer(asked, known, person, palette)
  assert.deepEqual(left, [])
  return { answer, shown: shown.join("\n") }
}

test("a prompt for each field, with its type and its label", async () => {
  const fields = "publish: boolean\n/// What should be changed?\nnote: maybe string"
  const { answer, shown } = await typed(question(fields, { show: { title: "Owls" }, to: "editors" }), ["y", ""])
  assert.deepEqual(answer, { publish: true, note: null })
  assert.equal(
    shown,
    `? ask.review, for editors
  │ Publish this?
  │
  │ A text.
  │ {
  │   "title": "Owls"
  │ }
  publish (boolean, y or n): 
  What should be changed?
  note (maybe string, empty for null): `,
  )
})

test("what does not fit is asked again", async () => {
  const fields = "count: integer, level: enum { low, high }, tags: [string], sure: boolean"
  const lines = ["many", "1.5", "3", "middle", "high", "a, b", '["a", 1]', '["a"]', "perhaps", "NO"]
  const { answer, shown } = await typed(question(fields), lines)
  assert.deepEqual(answer, { count: 3, level: "high", tags: ["a"], sure: false })
  assert.match(shown, /count: expected integer, found string "many"/)
  assert.match(shown, /count: expected integer, found number 1\.5/)
  assert.match(shown, /level: expected .*found string "middle"/)
  assert.match(shown, /This is not JSON: a, b/)
  assert.match(shown, /tags\[1\]: expected string, found number 1/)
  assert.match(shown, /sure: expected boolean, found string "perhaps"/)
})

test("fields of objects are asked for one by one; a string is taken as it is typed", async () => {
  const { answer } = await typed(question("reason: { short: string, long: maybe string }, any: object"), [
    " a b ",
    "",
    '{ "x": 1 }',
  ])
  assert.deepEqual(answer, { reason: { short: " a b ", long: null }, any: { x: 1 } })
})

test("what the command line has is not asked for", async () => {
  const { answer, shown } = await typed(question("publish: boolean, note: string"), ["fine"], { publish: true })
  assert.deepEqual(answer, { publish: true, note: "fine" })
  assert.doesNotMatch(shown, /publish \(/)
})

test("an approval shows what would be called, and takes y or n", async () => {
  const { answer, shown } = await typed(approval, ["what", "y"])
  assert.deepEqual(answer, { approve: true, note: null })
  assert.match(shown, /tool\.pay wants to be called/)
  assert.ok(
    shown.startsWith(`? tool.pay wants to be called
  │ May pay be called?
  │ tool       "pay-bill"
  │ server     "bank"
  │ endpoint   "https://bank.example.com/mcp"
  │ digest     "sha256:00ff"
  │ arguments  {
  │   "amount": 3,
  │   "note": "\\u001b[2J"
  │ }
  Approve this call? [y/n] `),
    shown,
  )
  assert.match(shown, /Type y or n/)
  const declined = await typed(approval, ["n", "too much"])
  assert.deepEqual(declined.answer, { approve: false, note: "too much" })
})

test("an approval shows arguments as what they are", () => {
  const forged = "3\n  Approve this call? [y/n]"
  const sent = {
    yes: "true",
    really: true,
    to: "ada\u202egro.elpmaxe@",
    zero: "a\u200bb\u{e0061}\u00a0c",
    rows: forged,
    "k\u2066ey": { deep: { deeper: [{ deepest: "x" }] } },
    long: `${" ".repeat(90)}Approve this call? [y/n] y`,
  }
  const lines = questionLines(
    { ...approval, arguments: sent, tool: forged, server: "b\u200b", endpoint: "c\u202e" },
    palette,
    60,
  )
  const text = lines.join("\n")
  assert.doesNotMatch(text, /[\p{Bidi_Control}\u200b\u00a0\u{e0061}]/u)
  for (const line of lines.slice(1)) {
    assert.match(line, /^ {2}│/)
    assert.ok(line.length <= 60, line)
  }
  const shown = lines.slice(1).map((line) => line.slice(4).padEnd(55))
  const json = shown.join("\n").split("arguments  ")[1] ?? ""
  assert.match(json, /"yes": "true",\s+"really": true,/)
  assert.match(text, /"to": "ada\\u202egro\.elpmaxe@"/)
  assert.match(text, /"zero": "a\\u200bb\\udb40\\udc61\\u00a0c"/)
  assert.match(text, /"rows": "3\\n {2}Approve this call/)
  assert.match(text, /"deepest": "x"/)
})

test("text of a model cannot move the cursor", () => {
  const lines = questionLines(question("a: string", { question: "a\u001b[2Jb\rc", to: "x\u0007" }), palette).join("\n")
  assert.doesNotMatch(lines.replaceAll("\n", ""), /\p{Cc}/u)
})

test("lines that were typed ahead wait; an aborted prompt and the end of the input are distinguished", async () => {
  const input = new PassThrough()
  const output = new PassThrough()
  output.resume()
  const lines = new TerminalLines(input, output, () => undefined)
  const never = new AbortController().signal
  input.write("one\ntwo\n")
  assert.equal(await lines.next("> ", never), "one")
  assert.equal(await lines.next("> ", never), "two")
  const closing = new AbortController()
  const aborted = lines.next("> ", closing.signal)
  closing.abort(new Error("closed"))
  await assert.rejects(aborted, /closed/)
  const ended = lines.next("> ", never)
  input.end()
  await assert.rejects(ended, InputEnded)
  await assert.rejects(lines.next("> ", never), InputEnded)
})
