import assert from "node:assert/strict"
import { test } from "node:test"
import type { JsonValue } from "../../base/json-value.ts"
import { dynamic, lit, output, plan, ref, stepsOf, text } from "../../../test/support/build-plan.ts"
import { errorOf, resultOf, runPlan } from "../../../test/support/run-plan.ts"
import { answers, ScriptedModel } from "../../../test/support/scripted-model.ts"
import { compile } from "../../compile.ts"
import type { Expression } from "../../plan/expression.ts"
import { TextBuilder } from "./value-builders.ts"
import type { Scope } from "./scope.ts"
import { EvaluationWork } from "./evaluation-work.ts"

const model = new ScriptedModel(() => assert.fail("nobody is called"))

test("dynamic values of a run are refused when they take too much memory together", async () => {
  const long = "x".repeat(8_000_000)
  const copies = Array.from({ length: 40 }, (_, index) => dynamic(`d${index}`, text(ref("input.long"))))
  const outcome = await runPlan(plan([...copies, output({})]), { model, input: { long } })
  assert.equal(errorOf(outcome).kind, "limit_exceeded")
  assert.match(errorOf(outcome).message, /take more than 134217728 bytes of memory together/)
})

/** The outcome of some work, and how many turns the event loop had meanwhile. */
async function countingTurns<Outcome>(
  work: () => Promise<Outcome>,
): Promise<{ readonly outcome: Outcome; readonly turns: number }> {
  let turns = 0
  let running = true
  const count = (): void => {
    turns++
    if (running) setImmediate(count)
  }
  setImmediate(count)
  try {
    return { outcome: await work(), turns }
  } finally {
    running = false
  }
}

test("long evaluations leave the event loop its turns", async () => {
  const list = Array.from({ length: 500_000 }, () => null)
  const drop: Expression = { op: "chain", base: ref("input.list"), steps: stepsOf(".**.a"), text: "list" }
  const fields = Object.fromEntries(Array.from({ length: 8 }, (_, index) => [`f${index}`, drop]))
  const run = (): ReturnType<typeof runPlan> => runPlan(plan([output(fields)]), { model, input: { list } })
  const { outcome, turns } = await countingTurns(run)
  assert.equal(outcome.end?.type, "workflow_completed")
  assert.ok(turns >= 7, String(turns))
})

test("a large value is written into a text, an instruction and a file in turns", async () => {
  const list = Array.from({ length: 400_000 }, (_, at) => at)
  const written = JSON.stringify(list)
  const header = `input { list: [integer] }
provider p from openai { endpoint: "demo" }
model m from p { id: "x" }
`
  const agent = (text: string): string =>
    `agent a { model: model.m ${text} output { n: integer } }\noutput { n: agent.a.n }`
  const sources = [
    `output { n: "<{{ input.list }}|{{ input.list }}>" }`,
    `dynamic { n: { n: "<{{ input.list }}|{{ input.list }}>" } }\noutput { n: dynamic.n.n }`,
    `output { n: first(["<{{ input.list }}|{{ x }}>" for x in [input.list]]) }`,
    agent('instruction: "<{{ input.list }}|{{ input.list }}>"'),
    agent('instruction: "Read."  file { name: "a.json"  content: input.list }'),
  ]
  for (const source of sources) {
    const compiled = compile(header + source)
    const said: string[] = []
    const listening = new ScriptedModel((request) => {
      said.push(JSON.stringify(request))
      return answers({ n: 1 })
    })
    const { plan: made, diagnostics } = compiled
    assert.ok(made, JSON.stringify(diagnostics))
    const { outcome, turns } = await countingTurns(() => runPlan(made, { model: listening, input: { list } }))
    const found = said.length === 0 ? (resultOf(outcome) as { n: string }).n : said.join("")
    if (source.includes("file {")) assert.ok(found.includes(Buffer.from(written).toString("base64")), source)
    else assert.ok(found.includes(`<${written}|${written}>`), source)
    assert.ok(turns >= 2, `${turns} turns: ${source}`)
  }
})

test("steps that begin side by side, and requirements, leave the event loop its turns", async () => {
  const header = "input { list: [integer] }\n"
  const list = Array.from({ length: 500_000 }, () => 0)
  const steps = Array.from({ length: 8 }, (_, at) => `d${at}: input.list contains ${at + 1}`)
  const requires = Array.from({ length: 8 }, (_, at) => `require !(input.list contains result.n + ${at})`)
  const agent = `provider p from openai { endpoint: "demo" }
model m from p { id: "x" }
agent a { model: model.m instruction: "Go." output { n: integer } ${requires.join("\n")} }`
  const sources = [
    `${header}dynamic { ${steps.join("\n")} }\noutput { n: 1 }`,
    `${header}${agent}\noutput { n: agent.a.n }`,
  ]
  // A requirement that holds is judged by the model client.
  const answering = new ScriptedModel(async (request) => {
    assert.deepEqual(await request.contract?.requirements?.rejections({ n: 1 }), [])
    return answers({ n: 1 }, request)
  })
  const turnsOf: number[] = []
  for (const source of sources) {
    const { plan: made } = compile(source)
    if (made === undefined) assert.fail(source)
    const { outcome, turns } = await countingTurns(() => runPlan(made, { model: answering, input: { list } }))
    assert.deepEqual(resultOf(outcome), { n: 1 })
    turnsOf.push(turns)
  }
  assert.ok(Math.min(...turnsOf) >= 7, turnsOf.join())
})

test("forty runs that begin together do little before the event loop has its turn", async () => {
  const works = Array.from({ length: 40 }, () => new EvaluationWork())
  const waiting = works.map((work) => {
    for (let begun = 0; ; begun++) {
      const waits = work.inTurn(() => work.begin())
      if (waits === undefined) continue
      assert.ok(begun <= 128, `${begun} expressions at once`)
      return waits
    }
  })
  await Promise.all(waiting)
})

test("a function of large values leaves the event loop its turns, also in a list", async () => {
  const header = "input { list: [integer] text: string o: object }\n"
  const list = Array.from({ length: 200_000 }, (_, at) => at)
  const input = {
    list,
    text: "a\n".repeat(100_000),
    o: Object.fromEntries(list.slice(0, 40_000).map((at) => [`k${at}`, at])),
  }
  const rows: readonly (readonly [string, JsonValue])[] = [
    ['length(split(input.text, ""))', 200_000],
    ['length(split(input.text, "a"))', 100_001],
    ["length(lines(input.text))", 100_000],
    ['join(input.list, "+")', list.join("+")],
    ['length(replace(input.text, "a", "bc"))', 300_000],
    ["length(unique(input.list))", 200_000],
    ["length(zip(input.list, input.list))", 200_000],
    ["length(entries(input.o))", 40_000],
    ['length("{{ join([length(unique(input.list)) for x in range(2)], " ") }}")', 13],
  ]
  let usual = 0
  for (const [expression, expected] of [["length(input.list)", 200_000] as const, ...rows]) {
    const { plan: made, diagnostics } = compile(`${header}output { x: ${expression} }`)
    if (made === undefined) assert.fail(`${expression}: ${diagnostics[0]?.message}`)
    const { outcome, turns } = await countingTurns(() => runPlan(made, { model, input }))
    assert.deepEqual(resultOf(outcome), { x: expected }, expression)
    if (usual === 0) usual = turns
    else assert.ok(turns >= usual + 3, `${turns} turns for ${expression}, ${usual} without a large function`)
  }
})

test("one list from a list leaves the event loop its turns: its condition, key, sort and values, and lists inside of it", async () => {
  const header = "input { texts: [string] pairs: [[integer]] }\n"
  const texts = Array.from({ length: 60_000 }, (_, at) => ((at * 2_654_435_761) % 4_294_967_296).toString(36))
  const pairs = [1, 2, 3].map(() => Array.from({ length: 60_000 }, (_, at) => at))
  const sorted = texts.toSorted((one, other) => (one < other ? -1 : 1))
  const rows: readonly (readonly [string, JsonValue])[] = [
    ['length([t for t in input.texts when length(t) > 0 && !(t contains "!")])', texts.length],
    ["first([t for t in input.texts by t])", sorted[0] ?? null],
    ['first([t for t in input.texts by "\u{1F600}{{ t }}" descending])', sorted.at(-1) ?? null],
    ['last(["{{ t }}!" for t in input.texts])', `${texts.at(-1)}!`],
    ["[length([n for n in pair when n % 2 == 0]) for pair in input.pairs]", [30_000, 30_000, 30_000]],
  ]
  let usual = 0
  for (const [expression, expected] of [["length(input.texts)", texts.length] as const, ...rows]) {
    const { plan: made } = compile(`${header}output { x: ${expression} }`)
    if (made === undefined) assert.fail(expression)
    const { outcome, turns } = await countingTurns(() => runPlan(made, { model, input: { texts, pairs } }))
    assert.deepEqual(resultOf(outcome), { x: expected }, expression)
    // A run without a list has some turns of its own.
    if (usual === 0) usual = turns
    else assert.ok(turns >= usual + 3, `${turns} turns for ${expression}, ${usual} without a list`)
  }
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
  rounds: none,
  answers: none,
  waited: none,
  dynamics: none,
  failures: new Map(),
  locals: none,
  variables: none,
  items: new Map(),
  positions: [],
  matched: null,
  run: { id: "run", started_at: "2026-01-01T00:00:00.000Z", date: "2026-01-01" },
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
