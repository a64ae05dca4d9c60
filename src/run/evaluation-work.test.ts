import assert from "node:assert/strict"
import { test } from "node:test"
import { dynamic, output, plan, ref, stepsOf, text } from "../../test/support/build-plan.ts"
import { errorOf, runPlan } from "../../test/support/run-plan.ts"
import { ScriptedModel } from "../../test/support/scripted-model.ts"
import type { Expression } from "../plan/expression.ts"
import { EvaluationWork } from "./evaluation-work.ts"

const model = new ScriptedModel(() => assert.fail("nobody is called"))

test("dynamic values of a run are refused when they take too much memory together", async () => {
  const long = "x".repeat(8_000_000)
  const copies = Array.from({ length: 40 }, (_, index) => dynamic(`d${index}`, text(ref("input.long"))))
  const outcome = await runPlan(plan([...copies, output({})]), { model, input: { long } })
  assert.equal(errorOf(outcome).kind, "limit_exceeded")
  assert.match(errorOf(outcome).message, /take more than 134217728 bytes of memory together/)
})

test("long evaluations leave the event loop its turns", async () => {
  const list = Array.from({ length: 500_000 }, () => null)
  const drop: Expression = { op: "chain", base: ref("input.list"), steps: stepsOf(".**.a"), text: "list" }
  const fields = Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`f${index}`, drop]))
  let turns = 0
  let running = true
  const count = (): void => {
    turns++
    if (running) setImmediate(count)
  }
  setImmediate(count)
  const outcome = await runPlan(plan([output(fields)]), { model, input: { list } })
  running = false
  assert.equal(outcome.end?.type, "workflow_completed")
  assert.ok(turns >= 15, String(turns))
})

test("an output that is larger than any value may be is too large, like every other", async () => {
  const long = "x".repeat(3_000_000)
  const large: Expression = { op: "array", items: Array.from({ length: 8 }, () => ref("input.long")) }
  for (const field of [large, text(large)]) {
    const outcome = await runPlan(plan([output({ a: field })]), { model, input: { long } })
    assert.equal(errorOf(outcome).kind, "payload_too_large")
  }
})

test("a long text is measured once, however often values hold it, and its bytes stay right", (t) => {
  const work = new EvaluationWork()
  const text = '"é" '.repeat(5_000)
  const bytes = Buffer.byteLength(JSON.stringify(text))
  const { mock } = t.mock.method(JSON, "stringify")
  for (let again = 0; again < 10; again++) {
    assert.equal(work.part(text, 0, "dynamic.a"), bytes)
    assert.equal(work.part([text, { text }], 0, "dynamic.b"), 2 * bytes + '[,{"text":}]'.length)
  }
  assert.equal(mock.callCount(), 1)
})

test("of long texts only some are remembered", () => {
  const work = new EvaluationWork()
  for (let at = 0; at < 20; at++) {
    const text = `"${String.fromCharCode(97 + at).repeat(1024 * 1024)}`
    for (let again = 0; again < 2; again++) assert.equal(work.part(text, 0, "dynamic.a"), text.length + 3)
  }
})
