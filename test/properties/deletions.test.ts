import assert from "node:assert/strict"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { compile } from "../../src/compile.ts"
import { isError } from "../../src/source/diagnostic.ts"
import { lex } from "../../src/syntax/lexer.ts"
import { atStrength } from "../support/strength.ts"

const examples = join(import.meta.dirname, "../../examples")

const sources = readdirSync(examples)
  .filter((name) => name.endsWith(".wire") && !name.endsWith(".test.wire"))
  .map((name) => ({ name, text: readFileSync(join(examples, name), "utf8") }))

/** What they import: with a file that is not there, each would have a mistake before anything is missing. */
const modules = Object.fromEntries(
  readdirSync(join(examples, "lib")).map((name) => [`lib/${name}`, readFileSync(join(examples, "lib", name), "utf8")]),
)

const errorsOf = (text: string) => compile(text, { modules }).diagnostics.filter(isError)

test("nothing is wrong with the examples as they are", () => {
  for (const { name, text } of sources) assert.deepEqual(errorsOf(text), [], name)
})

/** `npm test` tries a third of what the soak tries. */
const thinned = atStrength(3, 1)

/** The text without one of its tokens, for every nth token. */
function* deletions(text: string, every: number): Generator<{ text: string; what: string }> {
  for (const [index, { start, end }] of lex(text).tokens.entries()) {
    if (start === end || index % every !== 0) continue
    const line = text.slice(0, start).split("\n").length
    yield { text: text.slice(0, start) + text.slice(end), what: `${line}: ${text.slice(start, end)}` }
  }
}

test("a token that is missing gives one message, nearly always", () => {
  let all = 0
  const others: string[] = []
  for (const { name, text } of sources) {
    for (const deletion of deletions(text, 3 * thinned)) {
      const errors = errorsOf(deletion.text).length
      if (errors > 0) all++
      if (errors > 1) others.push(`${name}:${deletion.what} gives ${errors}`)
    }
  }
  assert.ok(all > 1_000 / thinned)
  assert.ok(others.length / all <= 0.03, `${others.length} of ${all} give more:\n${others.join("\n")}`)
})

test("a second mistake elsewhere is not hidden by a token that is missing", () => {
  const second = "ask added { question: 7 output { answer: string } }\n"
  let all = 0
  const hidden: string[] = []
  for (const { name, text } of sources) {
    for (const deletion of deletions(text, 5 * thinned)) {
      const { diagnostics } = compile(`${second}\n${deletion.text}`)
      all++
      if (!diagnostics.some(({ path }) => path === "ask.added.question")) hidden.push(`${name}:${deletion.what}`)
    }
  }
  assert.ok(all > 600 / thinned)
  assert.deepEqual(hidden, [])
})

test("two mistakes in one workflow give two messages", () => {
  const text = sources.find(({ name }) => name === "variants.wire")?.text ?? ""
  const both = (first: [string, string], second: [string, string]) => {
    for (const [written] of [first, second]) assert.ok(text.includes(written), written)
    const { diagnostics } = compile(text.replace(...first).replace(...second))
    return diagnostics.filter(isError).map(({ message }) => message)
  }
  // Both in one block, in blocks that follow each other, in a match and in the type that it is about.
  assert.equal(both(["mail.from", "mial.from"], ["dynamic.subject }}", "dynamic.subjet }}"]).length, 2)
  assert.equal(both(["room: string", "room string"], ["mail.from", "mail.form"]).length, 2)
  assert.equal(both(["note: maybe string", "note maybe string"], ["reply.text", "reply.txt"]).length, 2)
})
