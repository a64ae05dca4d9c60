import assert from "node:assert/strict"
import { test } from "node:test"
import { compile } from "../../compile.ts"
import { codeActions } from "../code-actions.ts"
import { applyEdits } from "../edit.ts"

const called = `input { url: string
 region: enum { eu, us }
 text: string }
secrets { key: string }
provider llm from openai { endpoint: "https://{{ input.region }}.{{ input.url }}" api_key: secrets.key }
model fast from llm { id: "m" }
agent a { model: model.fast instruction: input.text output { text: string } }
output { text: agent.a.text }
`
const head = `workflow steers from "./steers.wire" { secrets { key: secrets.key } }
secrets { key: string }
provider own from openai { endpoint: "demo" }
model small from own { id: "demo" }
agent writer { model: model.small instruction: "Write." output { text: string } }
`
const around = { modules: { "steers.wire": called } }

/** The workflow after all preferred fixes, one after the other, with their titles and what is left to report. */
function fixed(rest: string): { text: string; titles: string[]; left: string[] } {
  let text = head + rest
  const titles: string[] = []
  for (;;) {
    const { program, diagnostics } = compile(text, around)
    const actions = codeActions(program, diagnostics, { start: 0, end: text.length })
    const action = actions.find(({ diagnostic }) => diagnostic.code === "secret-exposed")
    if (action === undefined || titles.length > 5) {
      return { text, titles, left: diagnostics.map(({ code, message }) => `${code} ${message}`) }
    }
    titles.push(action.title)
    text = applyEdits(text, action.edits)
  }
}

test("a field that decides where a key goes is taken from the input, which gets the field where it lacks it", () => {
  const { text, titles, left } = fixed(`input { url: string }
dynamic { r: call workflow.steers { input { url: agent.writer.text, region: match agent.writer.text == "x" { true: "eu" false: "us" }, text: "x" } } }
output { text: dynamic.r.text }
`)
  assert.deepEqual(titles, ["Write `input.url`", "Write `input.region`"])
  assert.deepEqual(left, [])
  assert.match(text, /input \{ url: string, region: enum \{ eu, us \} \}/)
})

test("an input field of another type keeps its name", () => {
  const { titles, left } = fixed(`input { url: integer }
dynamic { r: call workflow.steers { input { url: agent.writer.text, region: "eu", text: "{{ input.url }}" } } }
output { text: dynamic.r.text }
`)
  assert.deepEqual(titles, ["Write `input.url_2`"])
  assert.deepEqual(left, [])
})

test("what a model could set is bound, in the entry of `uses` as it is written", () => {
  for (const entry of [
    "workflow.steers",
    "workflow.steers { max_calls: 2 }",
    'workflow.steers { bindings { text: "x" } }',
    'workflow.steers {\n        bindings {\n            text: "x"\n        }\n    }',
  ]) {
    const { titles, left } = fixed(`agent caller {
    model: model.small
    instruction: "Call."
    uses: [${entry}]
    output { text: string }
}
output { text: "{{ agent.caller.text }} {{ agent.writer.text }}" }
`)
    assert.deepEqual(titles, ["Bind `url` to `input.url`", "Bind `region` to `input.region`"], entry)
    assert.deepEqual(left, [], entry)
  }
})

test("a round of a repetition keeps to the input", () => {
  const { titles, left } = fixed(`input { url: string }
dynamic {
    r: repeat workflow.steers {
        input { url: input.url, region: "eu", text: agent.writer.text }
        until: result.text == "y"
        next { url: result.text, text: result.text }
        at_most: 2
    }
}
output { text: dynamic.r.result.text }
`)
  assert.deepEqual(titles, ["Write `input.url`"])
  assert.deepEqual(left, [])
})
