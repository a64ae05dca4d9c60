import assert from "node:assert/strict"
import { test } from "node:test"
import { compile } from "../../compile.ts"
import { codeActions } from "../code-actions.ts"
import { applyEdits } from "../edit.ts"

const draft = `input { brief: string
 text: string }
output { text: "{{ input.brief }} {{ input.text }}"
 score: 9 }
`
const around = { modules: { "draft.wire": draft } }

/** The workflow after all fixes that are preferred, one after the other, and the titles of those. */
function fixed(block: string): { text: string; titles: string[]; left: string[] } {
  let text = `workflow draft from "./draft.wire"
dynamic {
    polished: repeat workflow.draft ${block}
}
output { text: dynamic.polished.result.text }
`
  const titles: string[] = []
  for (;;) {
    const { program, diagnostics } = compile(text, around)
    const whole = { start: 0, end: text.length }
    const action = codeActions(program, diagnostics, whole).find(({ preferred }) => preferred)
    if (action === undefined || titles.length > 5) {
      return { text, titles, left: diagnostics.map(({ message }) => message) }
    }
    titles.push(action.title)
    text = applyEdits(text, action.edits)
  }
}

test("a repetition without at_most and next gets both, from what the workflow gives and takes", () => {
  const { text, titles, left } = fixed(`{
        input { brief: "tea", text: "tea" }
        until: result.score >= 8
    }`)
  assert.deepEqual(titles, ["Add `at_most: 3`", "Add `next { text: result.text }`"])
  assert.deepEqual(left, [], text)
})

test("an agent that repeats without at_most gets it", () => {
  const source = `model m from p { id: "m" }
provider p from openai { endpoint: "https://x.example" }
agent a { model: model.m, instruction: "Hi", repeat { until: round > 1 }, output { n: integer } }
output { n: agent.a.n }
`
  const { program, diagnostics } = compile(source)
  const [action, ...others] = codeActions(program, diagnostics, { start: 0, end: source.length })
  assert.deepEqual([action?.title, others], ["Add `at_most: 3`", []])
  assert.deepEqual(compile(applyEdits(source, action?.edits ?? [])).diagnostics, [])
})

test("without a field that the result has, too, there is no next to offer", () => {
  const { program, diagnostics } = compile(
    `workflow w from "./w.wire"
dynamic { r: repeat workflow.w { input { a: "x" } until: result.b == "y" at_most: 2 } }
output { r: dynamic.r.result.b }
`,
    { modules: { "w.wire": "input { a: string }\noutput { b: input.a }\n" } },
  )
  assert.match(diagnostics[0]?.message ?? "", /needs `next`/)
  assert.deepEqual(codeActions(program, diagnostics, { start: 0, end: 1000 }), [])
})
