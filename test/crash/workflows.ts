import type { JsonObject } from "../../src/base/json-value.ts"
import type { RunOptions } from "../../src/ports/store.ts"
import type { NewRequest } from "../../src/run/runs.ts"
import { defaultOptions } from "../support/run-plan.ts"

// The runs that are killed again and again.

/** A call of its own, a tool loop, a loop, contexts, a cache, conditions, models that are chosen. */
const usual = `
input { endpoint: string  topic: string  items: [string] }
secrets { key: string }
provider p from openai { endpoint: input.endpoint  api_key: secrets.key }
model m from p { id: "m"  inference { retry_base_delay_ms: 1 } }
model other from p { id: "other"  inference { retry_base_delay_ms: 1 } }
mcp s { endpoint: "http://tools.test/mcp" }
tool note from mcp.s.tool.note { idempotent: true }

dynamic {
    noted: call tool.note { input { text: input.topic } }
}

agent scheme {
    model: model.m
    uses: [tool.note { max_calls: 2 }]
    instruction: "Scheme {{ dynamic.noted }}"
    output { message: string }
}

agent checked when (call tool.note { input { text: "check" } }) contains "check" {
    model: match (agent.scheme.message != "") { true: model.other, false: model.m }
    instruction: "Checked"
    output { message: string }
}

agent unneeded when agent.checked == null {
    model: model.m
    instruction: "Unneeded"
    output { message: string }
}

agent asked for model, at in [model.m, model.other] {
    model: model
    instruction: "Asked {{ at }}"
    output { message: string }
}

agent each for item in input.items when item != "b" {
    model: model.m
    instruction: "Each {{ item }} of {{ input.topic }}"
    output { message: string }
}

agent further {
    model: model.m
    context: agent.scheme
    instruction: "Further"
    output { message: string }
}

agent sum {
    model: model.m
    context: compact agent.further { model: model.m }
    instruction: "Sum {{ agent.each.*.message }}"
    output { message: string }
}

output {
    sum: agent.sum.message
    each: agent.each.*.message
    checked: agent.checked?.message
    unneeded: agent.unneeded
    asked: agent.asked.*.message
}
`

/** Models that fail and go on, and limits on everything. */
const limits = `
input { endpoint: string  topic: string  items: [string] }
secrets { key: string }
provider p from openai { endpoint: input.endpoint  api_key: secrets.key  inference { max_retries: 0  max_tokens: 200 } }
model shaky from p { id: "shaky"  price { input: 1 output: 2 } }
model firm from p { id: "firm"  price { input: 10 output: 20 } }
mcp s { endpoint: "http://tools.test/mcp" }
tool note from mcp.s.tool.note { idempotent: true }

limits {
    cost: 5
    tokens: 100_000
    model_calls: 40
    tool_calls: 40
}

agent scheme {
    model: [model.shaky, model.firm]
    uses: [tool.note]
    instruction: "Scheme about {{ input.topic }}"
    limits { tokens: 50_000 }
    output { message: string }
}

agent each for item in ["x", "y"] {
    model: model.firm
    instruction: "Each {{ item }} of {{ input.items }}"
    output { message: string }
}

output {
    message: agent.scheme.message
    each: agent.each.*.message
}
`

/** Two questions, one of them prefilled, approvals in a tool loop (one is given, one is declined) and a question that nobody answers. */
const people = `
input { endpoint: string }
provider p from openai { endpoint: input.endpoint }
model m from p { id: "m"  inference { retry_base_delay_ms: 1 } }
mcp s { endpoint: "http://tools.test/mcp" }
tool send from mcp.s.tool.send { approval: required }

ask first {
    question: "First?"
    output { go: boolean }
}

ask nobody {
    question: "Does anybody answer?"
    expires_seconds: 1
    on_expiry: { said: "nobody" }
    output { said: string }
}

agent work {
    model: model.m
    uses: [tool.send]
    instruction: "Work, for first said {{ ask.first.go }}"
    output { message: string }
}

ask second {
    question: "Second, after {{ agent.work.message }}?"
    prefill: { note: "{{ agent.work.message }}, {{ ask.first.go }}" }
    expires_seconds: 60 * length(["a", "b"])
    output { good: boolean, note: string }
}

output {
    first: ask.first.go
    work: agent.work.message
    second: ask.second.good
    note: ask.second.note
    nobody: ask.nobody.said
}
`

const sources = { usual, limits, people } as const

export type WorkflowName = keyof typeof sources

/** The request for a run of the workflow, with the model at this origin. */
export function requestFor(workflow: WorkflowName, origin: string): NewRequest {
  const endpoint = `${origin}/v1`
  const more: { readonly input: JsonObject; readonly secrets: JsonObject; readonly options: RunOptions } =
    workflow === "people"
      ? { input: { endpoint }, secrets: {}, options: defaultOptions }
      : {
          input: { endpoint, topic: "wires", items: ["a", "b", "c"] },
          secrets: { key: "sk-crash-0123456789" },
          options: { ...defaultOptions, cache_key: "crash", max_concurrency: 2 },
        }
  return { caller: "", request: { source: sources[workflow], ...more }, idempotency: null }
}
