import assert from "node:assert/strict"
import { test } from "node:test"
import type { JsonValue } from "../base/json-value.ts"
import { dynamic, lit, output, plan, ref, stepsOf, text } from "../../test/support/build-plan.ts"
import { errorOf, runPlan } from "../../test/support/run-plan.ts"
import { ScriptedModel } from "../../test/support/scripted-model.ts"
import type { Expression } from "../plan/expression.ts"
import { TextBuilder, type Scope } from "./evaluate.ts"
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
  const fields = Object.fromEntries(Array.from({ length: 8 }, (_, index) => [`f${index}`, drop]))
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
  assert.ok(turns >= 7, String(turns))
})

test("an output that is larger than any value may be is too large, like every other", async () => {
  const long = "x".repeat(3_000_000)
  const large: Expression = { op: "array", items: Array.from({ length: 8 }, () => ref("input.long")) }
  for (const field of [large, text(large)]) {
    const outcome = await runPlan(plan([output({ a: field })]), { model, input: { long } })
    assert.equal(errorOf(outcome).kind, "payload_too_large")
  }
})

test("a long text is measured once, however often values hold it, and its bytes stay right", () => {
  const work = new EvaluationWork(10_000_000)
  const text = '"é" '.repeat(500_000)
  const bytes = Buffer.byteLength(JSON.stringify(text))
  // Measuring it a third of these times would be more work than all expressions may do.
  for (let again = 0; again < 100; again++) {
    assert.equal(work.part(text, 0, "dynamic.a"), bytes)
    assert.equal(work.part([text, { text }], 0, "dynamic.b"), 2 * bytes + '[,{"text":}]'.length)
  }
})

const none = new Map<string, JsonValue>()
const scope: Omit<Scope, "work"> = {
  input: {},
  secrets: {},
  agents: none,
  answers: none,
  dynamics: none,
  locals: none,
  variables: none,
  matched: null,
  path: "dynamic.x",
  iteration: null,
}

test("the bytes of a text are known from its pieces", () => {
  const work = new EvaluationWork()
  const list = [{ a: '"' }, "é", 1.5, null]
  const pieces: JsonValue[] = ["plain", "é\n", '"'.repeat(5_000), list, 12, true, null, list, "\ud83d"]
  const builder = new TextBuilder({ ...scope, work })
  for (const piece of pieces) builder.add(piece)
  const made = builder.text
  assert.equal(made, pieces.map((piece) => (typeof piece === "string" ? piece : JSON.stringify(piece))).join(""))
  assert.equal(work.part(made, 0, "dynamic.a"), Buffer.byteLength(JSON.stringify(made)))
})

const tooMuch = /The run's expressions take more work than they may/

test("all expressions of a run that makes no calls have a limit of work together", async () => {
  const texts = [dynamic("d0", lit('"'.repeat(1024)))]
  for (let level = 1; level <= 12; level++) {
    texts.push(dynamic(`d${level}`, text(ref(`dynamic.d${level - 1}`), ref(`dynamic.d${level - 1}`))))
  }
  const differs = (at: number): Expression => ({
    op: "binary",
    operator: "==",
    left: text(ref("dynamic.d12"), `${at}`),
    right: text(ref("dynamic.d12"), "x"),
    text: "it differs",
  })
  const fields = Object.fromEntries(
    Array.from({ length: 100 }, (_, at): [string, Expression] => [`f${at}`, differs(at)]),
  )
  const outcome = await runPlan(plan([...texts, output(fields)]), { model })
  assert.equal(errorOf(outcome).kind, "limit_exceeded")
  assert.match(errorOf(outcome).message, tooMuch)
})

test("an output that takes long to write needs input that is as large", async () => {
  let shared: Expression = { op: "array", items: Array.from({ length: 1000 }, () => lit(1)) }
  const lists = []
  for (let level = 0; level < 12; level++) {
    lists.push(dynamic(`d${level}`, shared))
    shared = { op: "array", items: [ref(`dynamic.d${level}`), ref(`dynamic.d${level}`)] }
  }
  const small = await runPlan(plan([...lists, output({ a: ref("dynamic.d11") })]), { model })
  assert.match(errorOf(small).message, tooMuch)

  const list = Array.from({ length: 2_000_000 }, () => 1)
  const large = await runPlan(plan([output({ a: ref("input.list"), b: ref("input.list") })]), {
    model,
    input: { list },
  })
  assert.equal(large.end?.type, "workflow_completed")
})

test("searching a text for one that is nearly all of it takes linear work", async () => {
  const long = "a".repeat(2_000_000)
  const search: Expression = {
    op: "binary",
    operator: "contains",
    left: ref("input.long"),
    right: text("ab", ref("input.half")),
    text: "search",
  }
  const input = { long, half: long.slice(1_000_000) }
  const outcome = await runPlan(plan([output({ a: search })]), { model, input })
  assert.deepEqual(outcome.end?.type, "workflow_completed")
})

test("of long texts only some are remembered", () => {
  const work = new EvaluationWork()
  for (let at = 0; at < 20; at++) {
    const text = `"${String.fromCharCode(97 + at).repeat(1024 * 1024)}`
    for (let again = 0; again < 2; again++) assert.equal(work.part(text, 0, "dynamic.a"), text.length + 3)
  }
})

test("texts of one length count each time for what comparing or measuring them takes", () => {
  const work = new EvaluationWork()
  const texts = Array.from({ length: 64 }, (_, at) => `${"k".repeat(60_000)}${String(at).padStart(2, "0")}`)
  assert.throws(() => {
    for (let again = 0; again < 100; again++) for (const text of texts) work.part(text, 0, "dynamic.a")
  }, /take more work than/)
})

test("one long text is measured once, however often it is used", () => {
  const work = new EvaluationWork()
  const text = "k".repeat(1_000_000)
  for (let again = 0; again < 1000; again++) assert.equal(work.part(text, 0, "dynamic.a"), text.length + 2)
})
