import assert from "node:assert/strict"
import { test } from "node:test"
import { compile } from "../compile.ts"
import { prepare, prepareInTurns } from "./prepare.ts"

const fields = 5000

/** How many rests there are while a plan is prepared. */
function rests(source: string): number {
  const { plan, diagnostics } = compile(source)
  assert.ok(plan, JSON.stringify(diagnostics))
  const work = prepareInTurns(plan)
  for (let count = 0; ; count++) {
    const step = work.next()
    if (step.done !== true) continue
    assert.deepEqual(prepare(plan), step.value)
    return count
  }
}

test("a large plan is prepared in steps, whether it has many nodes or one node with many values", () => {
  const values = Array.from({ length: fields }, (_, at) => `f${at}: "{{ input.a }} {{ run.date }}"`).join("\n")
  assert.ok(rests(`input { a: string }\noutput {\n${values}\n}`) >= fields / 1000)
  assert.ok(rests(`input { a: string }\ndynamic {\n${values}\n}\noutput { x: input.a }`) >= fields / 1000)
})

test("what a plan shows and calls is found in every value, also after others of its node", () => {
  const source = `mcp s { endpoint: "http://t.test" }
tool t from mcp.s.tool.t
output {
    a: 1
    b: "on {{ run.date }}"
    c: [call tool.t { input { n: n } } for n in range(2)]
    d: call tool.t
}`
  const { plan, diagnostics } = compile(source)
  assert.ok(plan, JSON.stringify(diagnostics))
  const { showsRun, effects } = prepare(plan)
  assert.equal(showsRun, true)
  assert.equal(effects.length, 2)
})
