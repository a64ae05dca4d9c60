import assert from "node:assert/strict"
import { test } from "node:test"
import { dataOf, errorOf, resultOf, runPlan } from "../../../test/support/run-plan.ts"
import { answers, ScriptedModel } from "../../../test/support/scripted-model.ts"
import { MemoryStore } from "../../adapters/memory/memory-store.ts"
import { systemClock } from "../../adapters/system/system-clock.ts"
import type { JsonValue } from "../../base/json-value.ts"
import { compile } from "../../compile.ts"
import type { Message } from "../../log/messages.ts"
import type { Plan } from "../../plan/plan-shape.ts"

function planOf(messages: string, more = ""): Plan {
  const { plan, diagnostics } = compile(`
input {
    question: string
    said: [{ role: enum { user, assistant }, content: string }]
    past: [{ role: enum { user, assistant }, text: string }]
    open: object
}

chat {
    message: input.question
    history: input.past
    reply: output.text
}

provider p from openai {
    endpoint: "https://api.example.com"
}

model m from p {
    id: "m"
}

agent answer {
    model: model.m
    messages: ${messages}
    instruction: input.question
    ${more}

    output {
        text: string
    }
}

output {
    text: agent.answer.text
}
`)
  assert.ok(plan, JSON.stringify(diagnostics))
  return plan
}

const model = (): ScriptedModel => new ScriptedModel((request) => answers({ text: "Yes." }, request))
const nothing = { question: "And now?", said: [], past: [], open: {} }
const said = (...messages: [string, string][]): JsonValue => messages.map(([role, content]) => ({ role, content }))

async function inputOf(plan: Plan, input: Readonly<Record<string, JsonValue>>): Promise<unknown> {
  const asked = model()
  const outcome = await runPlan(plan, { model: asked, input: { ...nothing, ...input } })
  assert.deepEqual(resultOf(outcome), { text: "Yes." })
  return shown(asked.requests[0]?.input ?? [])
}

const shown = (messages: readonly Message[]): unknown =>
  messages.map((message) => ("parts" in message ? [message.role, ...message.parts.map(textOf)] : message))

function textOf(part: { readonly type: string; readonly text?: string }): string {
  return part.text ?? part.type
}

test("messages are sent as such, before the instruction", async () => {
  const input = { said: said(["user", "Hello"], ["assistant", "Hi."]) }
  assert.deepEqual(await inputOf(planOf("input.said"), input), [
    ["user", "Hello"],
    ["assistant", "Hi."],
    ["user", "And now?"],
  ])
  assert.deepEqual(await inputOf(planOf("input.said"), {}), [["user", "And now?"]])
})

test("messages of one role in a row are one, the instruction too; those without a text say nothing", async () => {
  const messages = said(
    ["user", "a"],
    ["user", "b"],
    ["assistant", "c"],
    ["assistant", ""],
    ["assistant", "d"],
    ["user", "e"],
  )
  assert.deepEqual(await inputOf(planOf("input.said", 'file { content: "f" name: "f.txt" }'), { said: messages }), [
    ["user", "a\n\nb"],
    ["assistant", "c\n\nd"],
    ["user", "e\n\nAnd now?", "document"],
  ])
})

test("chat.history has the text of a chat's messages in `content`", async () => {
  const past = [
    { role: "user", text: "Hello" },
    { role: "assistant", text: "Hi." },
  ]
  const expected = [
    ["user", "Hello"],
    ["assistant", "Hi."],
    ["user", "And now?"],
  ]
  assert.deepEqual(await inputOf(planOf("chat.history"), { past }), expected)
  assert.deepEqual(await inputOf(planOf('[m for m in chat.history when m.content != ""]'), { past }), expected)
})

test("what is not known before the run is checked then", async () => {
  for (const [list, message] of [
    ["x", /messages are an array, found/],
    [["x"], /a message has a text `content`, found/],
    [[{ role: "user", content: 1 }], /a message has a text `content`, found/],
    [[{ role: "system", content: "x" }], /the `role` of a message is user or assistant, found/],
  ] as const) {
    const input = { ...nothing, open: { list: list as unknown as JsonValue } }
    const outcome = await runPlan(planOf("input.open.list"), { model: model(), input })
    assert.equal(errorOf(outcome).kind, "evaluation_error")
    assert.match(errorOf(outcome).message, message)
  }
})

test("other messages are another question for the cache", async () => {
  const store = new MemoryStore(systemClock)
  const options = { cache_key: "k" }
  const plan = planOf("input.said")
  const asked = model()
  const run = async (...messages: [string, string][]): Promise<boolean | undefined> => {
    const input = { ...nothing, said: said(...messages) }
    const { events } = await runPlan(plan, { model: asked, store, options, input })
    return dataOf(events, "agent_completed")[0]?.cached
  }
  assert.equal(await run(["user", "a"]), false)
  assert.equal(await run(["user", "a"]), true)
  assert.equal(await run(["user", "b"]), false)
  assert.equal(await run(["assistant", "a"]), false)
})
