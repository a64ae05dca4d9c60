import assert from "node:assert/strict"
import { Buffer } from "node:buffer"
import { test } from "node:test"
import type { JsonObject } from "../../src/base/json-value.ts"
import { compile } from "../../src/compile.ts"
import type { Plan } from "../../src/plan/plan-shape.ts"
import type { ModelRequest } from "../../src/ports/model.ts"
import { record, string } from "../support/build-types.ts"
import { InProcessTools } from "../support/in-process-tools.ts"
import type { Outcome } from "../support/run-plan.ts"
import { dataOf, resultOf, runPlan } from "../support/run-plan.ts"
import { answers, callsTools, lastText, partsOf, says, ScriptedModel, textOf } from "../support/scripted-model.ts"

// Every construct of the language, from its text to what it does: planner and evaluator agree on it.

const head = `
provider p from openai { endpoint: "https://x.test/v1"  inference { temperature: 0.1  top_p: 0.9 } }
model m from p { id: "m-1"  assets: ["image", "document"]  inference { temperature: 0.2 } }
mcp s { endpoint: "https://tools.test/{{ input.tenant ?? "none" }}"  headers { X-Key: "Bearer {{ secrets.key }}" } }
`

function planOf(source: string): Plan {
  const { plan, diagnostics } = compile(source)
  if (plan === undefined) throw new Error(diagnostics.map((found) => `${found.path}: ${found.message}`).join("\n"))
  return plan
}

const served = (): InProcessTools =>
  new InProcessTools({
    tools: {
      find: {
        input: record({ query: string, project: string }),
        call: ({ query, project }) => ({
          text: JSON.stringify({ hits: [{ title: `${JSON.stringify(query)} in ${JSON.stringify(project)}` }] }),
          is_error: false,
        }),
      },
    },
    resources: {
      "notes/{id}": { variables: ["id"], read: ({ id }) => ({ text: `note ${JSON.stringify(id)}`, media_type: null }) },
    },
    prompts: {
      style: {
        arguments: [{ name: "tone", required: true }],
        render: ({ tone }) => [{ role: "user", text: `Be ${JSON.stringify(tone)}`, images: [] }],
      },
    },
  })

/** Answers by contract: each field of the output is what the test gives for it, else the instruction. */
function model(fields: JsonObject = {}, onTurn?: (request: ModelRequest) => void): ScriptedModel {
  return new ScriptedModel((request) => {
    onTurn?.(request)
    if (request.contract === null) return says("the summary", request)
    if (request.tools.length > 0 && request.turn === 1) {
      return callsTools([{ name: request.tools[0]?.name ?? "", arguments: { query: "from the model" } }], request)
    }
    const named = request.contract.type.fields.map(({ name }) => [name, fields[name] ?? lastText(request)] as const)
    return answers(Object.fromEntries(named), request)
  })
}

async function run(source: string, input: JsonObject, asked = model()): Promise<Outcome> {
  const secrets = { key: "sk-0123456789" }
  return runPlan(planOf(source), { model: asked, tools: served(), input, secrets })
}

test("tools, resources and prompts: bindings by declaration and by use, from input, secrets, values and agents", async () => {
  const asked = model({ tone: "warm" })
  const outcome = await run(
    `${head}
    input { tenant: maybe string  topic: string }
    secrets { key: string }
    tool find from mcp.s.tool.find { bindings { project: "p-{{ input.topic }}" } }
    tool seek from mcp.s.tool.find
    resource note from mcp.s.resource."notes/{id}"
    prompt style from mcp.s.prompt.style
    dynamic {
        found: call tool.find { input { query: input.topic } }
        title: dynamic.found.hits[0].title
        titles: dynamic.found.hits.*.title
        noted: read resource.note { bindings { id: secrets.key } }
        styled: render prompt.style { bindings { tone: "calm" } }
    }
    agent a {
        model: model.m { inference { temperature: 0.3 } }
        uses: [tool.seek { max_calls: 1, bindings { project: dynamic.styled } }, prompt.style { bindings { tone: agent.b.tone } }]
        instruction: "{{ dynamic.title }} {{ dynamic.titles }} {{ dynamic.noted }}"
        output { text: string }
    }
    agent b { model: model.m  instruction: "tone?"  output { tone: string } }
    output { text: agent.a.text }`,
    { tenant: null, topic: "wires" },
    asked,
  )
  assert.equal(dataOf(outcome.events, "workflow_failed")[0]?.error.message, undefined)
  const found = String.raw`"wires" in "p-wires"`
  const first = asked.requests.find(({ path }) => path === "agent.a")
  assert.deepEqual(first?.input.map(textOf), ['Be "warm"', `${found} ${JSON.stringify([found])} note "[secret:key]"`])
  assert.deepEqual(first?.inference, { temperature: 0.3, top_p: 0.9 })
  assert.deepEqual(
    dataOf(outcome.events, "tool_call_started").map((event) => event.arguments),
    [
      { query: "wires", project: "p-wires" },
      { query: "from the model", project: 'Be "calm"' },
    ],
  )
  assert.ok(!JSON.stringify(outcome.events).includes("sk-0123456789"))
})

test("expressions: null, plucks, cases, matches, defaults, indexes", async () => {
  const outcome = await run(
    `${head.replace(/mcp s .*/, "")}
    schema advice { variant kind { rewrite { patch: string } "ask.human" { text: string } } }
    input {
        list: [{ a: maybe { b: maybe string }  n: integer }]
        one: maybe { deep: { x: integer } }
        advices: [schema.advice]
        pair: (string, integer)
        none: [string]
        tenant: maybe string
    }
    secrets { key: string }
    dynamic {
        kept: input.list.*.a
        dropped: input.list.**.a.b
        refused: input.list.***.n
        nested: input.list.*.a?.b
        deep: input.one?.deep.x
        fallback: input.one?.deep.x ?? 7
        first: input.advices[0]
        text: input.advices[1]#"ask.human".text ?? "nothing"
        wrong: input.advices[0]#"ask.human".text ?? "nothing"
        out: input.none[0] ?? "empty"
        chosen: match input.advices[0] { rewrite.patch "ask.human".text _ "none" }
        otherwise: match input.advices[1] { rewrite.patch _ "rest" }
        pair: "{{ input.pair }}"
        made: { a: [1, "two", null], "X-b": input.pair[1] }
        words: "a \\{\\{ b }} {{ input.one }} {{ true }} {{ 1.50 }}"
    }
    output {
        kept: dynamic.kept
        dropped: dynamic.dropped
        refused: dynamic.refused
        nested: dynamic.nested
        deep: dynamic.deep
        fallback: dynamic.fallback
        text: dynamic.text
        wrong: dynamic.wrong
        out: dynamic.out
        chosen: dynamic.chosen
        otherwise: dynamic.otherwise
        pair: dynamic.pair
        made: dynamic.made
        words: dynamic.words
    }`,
    {
      list: [
        { a: { b: "x" }, n: 1 },
        { a: null, n: 2 },
        { a: { b: null }, n: 3 },
      ],
      one: null,
      advices: [
        { kind: "rewrite", patch: "P" },
        { kind: "ask.human", text: "T" },
      ],
      pair: ["s", 5],
      none: [],
      tenant: null,
    },
  )
  assert.deepEqual(resultOf(outcome), {
    kept: [{ b: "x" }, null, { b: null }],
    dropped: ["x", null],
    refused: [1, 2, 3],
    nested: ["x", null, null],
    deep: null,
    fallback: 7,
    text: "T",
    wrong: "nothing",
    out: "empty",
    chosen: "P",
    otherwise: "rest",
    pair: '["s",5]',
    made: { a: [1, "two", null], "X-b": 5 },
    words: "a {{ b }} null true 1.5",
  })
})

test("agents: loops over outputs, own values, files, assets, contexts whole and compacted", async () => {
  const asked = model({ items: ["one", "two"] })
  const outcome = await run(
    `${head.replace(/mcp s .*/, "")}
    input { photo: string  tenant: maybe string }
    secrets { key: string }
    agent list { model: model.m  instruction: "List."  output { items: [string] } }
    agent each for item in agent.list.items {
        model: model.m
        dynamic { loud: "{{ item }}!"  louder: "{{ dynamic.loud }}!" }
        instruction: "Say {{ dynamic.louder }}"
        output { said: string }
    }
    dynamic { pic: asset input.photo { type: image, title: "A cat" } }
    agent look {
        model: model.m
        context: agent.list
        file { name: "said.json"  content: "{{ agent.each.*.said }}" }
        instruction: "Look at {{ dynamic.pic }} now"
        output { seen: string }
    }
    agent short {
        model: model.m
        context: compact agent.look { model: model.m  instruction: "Briefly, for {{ input.photo }}" }
        instruction: "And?"
        response_format: json_object
        max_steps: 2
        output { end: string }
    }
    output { said: agent.each.*.said  end: agent.short.end }`,
    { photo: "https://x.test/cat.png", tenant: null },
    asked,
  )
  assert.deepEqual(resultOf(outcome), { said: ["Say one!!", "Say two!!"], end: "And?" })
  const look = asked.requests.find(({ path }) => path === "agent.look")
  assert.deepEqual(
    look?.input.map(({ role }) => role),
    ["user", "assistant", "user"],
  )
  assert.deepEqual(partsOf(look?.input.at(-1)), [
    { type: "text", text: "Look at [image: A cat]" },
    { type: "image", url: "https://x.test/cat.png" },
    { type: "text", text: " now" },
    {
      type: "document",
      name: "said.json",
      url: `data:application/json;base64,${Buffer.from('["Say one!!","Say two!!"]').toString("base64")}`,
    },
  ])
  const [compaction, short] = asked.requests.slice(-2)
  assert.equal(lastText(compaction ?? assert.fail()), "Briefly, for https://x.test/cat.png")
  assert.equal(short?.input.length, 2)
  assert.equal(short?.response_format, "json_object")
})
