import assert from "node:assert/strict"
import { test } from "node:test"
import { compile } from "../compile.ts"
import type { WorkflowDiff } from "./diff-shape.ts"
import { diffWorkflows } from "./diff-workflows.ts"
import { failingAreas, isUnchanged, showDiff } from "./show-diff.ts"

const source = `input {
    text: string
    tier: enum { gold, silver }
    tone: string = "formal"
    note: maybe string
}

provider demo from openai { endpoint: "demo" }
model m from demo { id: "demo" }

agent sort for { title }, at in [{ title: input.text }] {
    model: model.m
    instruction: "Which team? {{ title }} {{ at }}"
    output { team: enum { billing, product } }
}

agent reply {
    model: model.m
    instruction: "Answer {{ agent.sort.*.team }}"
    output { text: string }
}

ask review {
    question: "Send {{ agent.reply.text }}?"
    output { ok: boolean }
}

webhook paid {
    verify: stripe
    secret: secrets.hook
    input { text: "x" tier: "gold" }
}

secrets { hook: string }
limits { cost: 0.5 model_calls: 10 tool_calls: 10 tokens: 10000 }

output { team: agent.sort.*.team  ok: ask.review.ok  kind: "v1" }
`.replace("limits { cost: 0.5 ", "limits { ")

function diff(after: string, before = source): WorkflowDiff {
  const [old, now] = [before, after].map((text) => {
    const compiled = compile(text)
    assert.ok(compiled.plan !== undefined, JSON.stringify(compiled.diagnostics.map(({ message }) => message)))
    return compiled.program
  })
  assert.ok(old !== undefined && now !== undefined)
  return diffWorkflows(old, now)
}

const edited = (from: string, to: string): WorkflowDiff => {
  assert.ok(source.includes(from), from)
  return diff(source.replaceAll(from, to))
}

test("layout, comments, the order of declarations and the names of variables are no difference", () => {
  const blocks = source.split("\n\n")
  assert.ok(isUnchanged(diff(blocks.toReversed().join("\n\n"))))
  assert.ok(isUnchanged(diff(`// a comment\n${source.replaceAll("    ", " ")}`)))
  const renamed = source
    .replace("for { title }, at in", "for { title: head }, n in")
    .replace("{{ title }} {{ at }}", "{{ head }} {{ n }}")
  assert.ok(isUnchanged(diff(renamed)))
  const swapped = source.replace("{{ title }} {{ at }}", "{{ at }} {{ title }}")
  assert.deepEqual(diff(swapped).steps.changed, [{ step: "agent.sort", properties: ["instruction"] }])
})

test("the contract: what breaks callers, and what does not", () => {
  const alone = source.replace(/webhook paid[^}]*\}\n\}\n/, "")
  const contract = (from: string, to: string, before = alone): string[] =>
    diff(before.replaceAll(from, to), before).contract.map(
      ({ path, change, breaking }) => `${breaking ? "!" : " "} ${path} ${change}`,
    )
  assert.deepEqual(contract("note: maybe string", "note: maybe string\n    region: string"), [
    "! input.region is new and required",
  ])
  assert.deepEqual(contract("note: maybe string", "note: maybe string\n    region: maybe string"), [
    "  input.region is new",
  ])
  assert.deepEqual(contract("note: maybe string", "note: maybe string\n    region: maybe string"), [
    "  input.region is new",
  ])
  assert.deepEqual(contract("note: maybe string", `note: maybe string\n    region: string = "eu"`), [
    "  input.region is new",
  ])
  assert.deepEqual(contract("    note: maybe string\n", ""), ["! input.note was removed"])
  assert.deepEqual(contract("gold, silver", "gold, silver, lead"), ["  input.tier gained the value `lead`"])
  assert.deepEqual(contract("gold, silver", "gold"), ["! input.tier lost the value `silver`"])
  assert.deepEqual(contract(`string = "formal"`, "string"), ["! input.tone is required now"])
  assert.deepEqual(contract(`"formal"`, `"short"`), ["  input.tone has another default"])
  assert.deepEqual(contract("note: maybe string", "note: string"), ["! input.note may no longer be null"])
  assert.deepEqual(contract("billing, product", "billing, product, legal"), [
    "! output.team[] gained the value `legal`",
  ])
  assert.deepEqual(contract("billing, product", "billing"), ["  output.team[] lost the value `product`"])
  assert.deepEqual(contract(`  kind: "v1"`, ""), ["! output.kind was removed"])
  assert.deepEqual(contract(`"v1"`, `"v2"`), [])
  assert.deepEqual(contract(`"v1"`, "1"), ["! output.kind changed from `string` to `integer`"])
  assert.deepEqual(contract("webhook paid", "webhook settled", source), [
    "! webhook.paid was removed",
    "  webhook.settled is new",
  ])
  assert.deepEqual(contract("secrets { hook: string }", "secrets { hook: string  key: string }"), [
    "! secrets.key is new and required",
  ])
  assert.deepEqual(contract("note: maybe string", `note: maybe string\n    require input.text != "" else "empty"`), [
    '! input.require gained the requirement `input.text != ""`',
  ])
})

test("steps say which of their properties differ, and what follows", () => {
  const { steps } = edited("Which team?", "Which team is it?")
  assert.deepEqual(steps, {
    same: [],
    changed: [{ step: "agent.sort", properties: ["instruction"] }],
    after: ["agent.reply", "ask.review", "output"],
    new: [],
    gone: [],
  })
  assert.deepEqual(edited("output { text: string }", "output {\n/// short\ntext: string }").steps.changed, [
    { step: "agent.reply", properties: ["output"] },
  ])
  assert.deepEqual(edited("agent reply {", "agent reply {\n    max_steps: 3").steps.changed, [
    { step: "agent.reply", properties: ["max_steps"] },
  ])
  assert.deepEqual(
    edited(`id: "demo"`, `id: "demo-fast"`).steps.changed.map(({ step, properties }) => [step, properties]),
    [
      ["agent.sort", ["model"]],
      ["agent.reply", ["model"]],
    ],
  )
})

test("questions fit where only fields are new that may be null", () => {
  assert.deepEqual(edited("ok: boolean", "ok: boolean  note: maybe string").questions, [
    { question: "ask.review", change: "field `note` is new and may be null: open questions fit", fits: true },
  ])
  assert.equal(edited("ok: boolean", "ok: boolean  note: string").questions[0]?.fits, false)
  assert.equal(
    edited("Send {{", "Really send {{").questions[0]?.change,
    "has another question: open questions are asked again",
  )
})

test("areas that fail: contract by what breaks, the others by what grew", () => {
  const grown = edited("model_calls: 10", "model_calls: 20")
  assert.deepEqual(grown.cost.grew, ["model calls at most 10 → 20"])
  assert.deepEqual(failingAreas(grown, ["contract", "reach", "cost", "trust"]), ["cost"])
  const less = edited("model_calls: 10", "model_calls: 5")
  assert.deepEqual([less.cost.grew, less.cost.shrank], [[], ["model calls at most 10 → 5"]])
  assert.deepEqual(failingAreas(less, ["contract", "cost"]), [])
  const host = edited(`endpoint: "demo"`, `endpoint: "https://api.example.com/v1"`)
  assert.ok(host.reach.grew.includes("api.example.com (provider.demo) is called"), JSON.stringify(host.reach))
  assert.deepEqual(failingAreas(host, ["contract", "reach"]), ["reach"])
})

test("for a terminal: what came and went, a line for the steps, prices and caches, exceptions counted", () => {
  const before = `input { note: untrusted string }
provider demo from openai { endpoint: "demo" }
model m from demo { id: "demo" price { input: 1 output: 4 } }
limits { cost: 0.012 }
agent sort {
    model: model.m
    instruction: "Sort {{ input.note }}, and give the name of the one team that it is for."
    output { team: enum { billing, product } }
}
ask review { question: "Right?" output { ok: boolean } }
output { team: agent.sort.team  ok: ask.review.ok  old: 1 }
`
  const after = `input { note: untrusted string  region: string }
provider demo from openai { endpoint: "demo" }
model m from demo { id: "demo" price { input: 1 output: 4 } }
limits { cost: 0.031 }
agent sort {
    model: model.m
    instruction: "Give the name of the one team that it is for, and sort {{ input.note }}."
    output { team: enum { billing, product, legal } }
}
agent check {
    model: model.m
    instruction: "Check {{ trust input.note because "typed by staff" }} of {{ input.region }}"
    output { score: number }
}
ask review { question: "Right?" output { ok: boolean  note: maybe string } }
output { team: agent.sort.team  ok: ask.review.ok  score: agent.check.score }
`
  assert.deepEqual(showDiff("triage.wire  a → b", diff(after, before)).split("\n"), [
    "triage.wire  a → b",
    "  contract   breaking: input gained `region` (required); output.team gained the value `legal`; output lost `old`",
    "             compatible: output gained `score`",
    "  steps      changed agent.sort (instruction, output), ask.review (output), output (output); new agent.check; same: 0",
    "  reach      grew: demo (provider.demo) gets input.region; input.note may choose agent.sort.team (enum { billing, product, legal })",
    "  cost       model calls at most 44 → 88; at most 0.012 → 0.031 a run; agent.sort cacheable 9 % → 98 %",
    '  trust      1 new exception: agent.check.instruction: trust input.note because "typed by staff"',
    "  questions  ask.review: field `note` is new and may be null: open questions fit",
  ])
  assert.deepEqual(diff(before, after).cost.grew, ["agent.sort cacheable 98 % → 9 %"])
})
