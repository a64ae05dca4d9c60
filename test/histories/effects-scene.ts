import type { LogEvent } from "../../src/log/events.ts"
import { MemoryStore } from "../../src/adapters/memory/memory-store.ts"
import { systemClock } from "../../src/adapters/system/system-clock.ts"
import { compile } from "../../src/compile.ts"
import { record, string } from "../support/build-types.ts"
import { InProcessTools } from "../support/in-process-tools.ts"
import { runPlan } from "../support/run-plan.ts"
import { answers, callsTools, ScriptedModel } from "../support/scripted-model.ts"

// A run with one of every effect: calls of the workflow's own and of models, alone, beside each other, within each other and in
// loops, of a tool that may be called again and of one that may not; resources and prompts. Every call can be told
// from every other by its argument.

const source = `
input { topic: string  items: [string] }
provider p from openai { endpoint: "http://backend.example.com/v1" }
model m from p { id: "m" }
mcp s { endpoint: "http://tools.example.com/mcp" }
tool note from mcp.s.tool.note { input { q: string } }
tool look from mcp.s.tool.look { idempotent: true  input { q: string } }
resource page from mcp.s.resource.page
resource leaf from mcp.s.resource.leaf
prompt hello from mcp.s.prompt.hello
prompt style from mcp.s.prompt.style

dynamic {
    alone: call tool.note { input { q: "alone {{ input.topic }}" } }
    beside: [call tool.look { input { q: "left" } }, call tool.note { input { q: "right" } }, read resource.page]
    within: call tool.look { input { q: call tool.look { input { q: "inner" } } } }
    greeting: "{{ render prompt.hello }} {{ read resource.leaf }}"
}

agent each for item in input.items {
    model: model.m
    instruction: "<each {{ item }}> {{ dynamic.own }} {{ call tool.look { input { q: "instruction of {{ item }}" } } }}"
    dynamic { own: call tool.note { input { q: "own {{ item }}" } } }
    output { message: string }
}

agent asks {
    model: model.m
    uses: [tool.note, tool.look, prompt.style]
    instruction: "<asks> {{ dynamic.alone }} {{ dynamic.greeting }}"
    output { message: string }
}

agent last {
    model: model.m
    instruction: "<last> {{ agent.asks.message }} {{ agent.each.*.message }}"
    output { message: string }
}

output { last: agent.last.message  each: agent.each.*.message  beside: dynamic.beside  within: dynamic.within }
`

const input = { topic: "wires", items: ["a", "b", "c"] }

export interface EffectsOutcome {
  /** What was asked of the outside, each with a name of its own. */
  readonly made: readonly string[]
  readonly events: readonly LogEvent[]
  /** The last id of each append. */
  readonly appends: readonly number[]
}

class Recording extends MemoryStore {
  readonly appends: number[] = []
  readonly events: LogEvent[] = []
  override append(lease: Parameters<MemoryStore["append"]>[0], events: readonly LogEvent[]): Promise<void> {
    this.appends.push(events.at(-1)?.id ?? 0)
    this.events.push(...structuredClone(events))
    return super.append(lease, events)
  }
}

/** A few turns of the event loop, so that answers come one by one, and each in an append of its own. */
async function later(turns: number): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve))
}

/** Runs the scene, or resumes a log that breaks off. `harmless`: all tools may be called again. */
export async function runEffects(harmless: boolean, past: readonly LogEvent[] = []): Promise<EffectsOutcome> {
  const { plan, diagnostics } = compile(source)
  if (plan === undefined) throw new Error(JSON.stringify(diagnostics))
  const made: string[] = []
  let count = 0
  const tool = (name: string, idempotent: boolean) => ({
    input: record({ q: string }),
    idempotent,
    call: async ({ q }: { readonly q?: unknown }) => {
      made.push(`${name} ${JSON.stringify(q)}`)
      await later(3 + 5 * (++count % 4))
      return { text: `${name} of ${typeof q === "string" ? q : ""}`, is_error: false }
    },
  })
  const reading = (name: string) => ({
    variables: [],
    read: () => {
      made.push(`read ${name}`)
      return { text: `text of ${name}`, media_type: null }
    },
  })
  const prompting = (name: string) => ({
    arguments: [],
    render: () => {
      made.push(`render ${name}`)
      return [{ role: "user" as const, text: `words of ${name}`, images: [] }]
    },
  })
  const tools = new InProcessTools({
    tools: { note: tool("note", harmless), look: tool("look", true) },
    resources: { page: reading("page"), leaf: reading("leaf") },
    prompts: { hello: prompting("hello"), style: prompting("style") },
  })
  const model = new ScriptedModel(async (request) => {
    const [, name = ""] = /<(each \w|asks|last)>/.exec(JSON.stringify(request.input)) ?? []
    made.push(`model ${name} ${request.turn}`)
    await later(4 + name.length + request.turn)
    if (name === "asks" && request.turn <= 2) {
      const call = (tool: string, which: string) => ({
        name: tool,
        arguments: { q: `${which} of turn ${request.turn}` },
      })
      return callsTools([call("look", "first"), call("note", "second")], request)
    }
    return answers({ message: `${name} done` }, request)
  })
  const store = new Recording(systemClock)
  const run_id = "scene"
  if (past.length > 0) await leave(store, run_id, past)
  // A run's time counts from its start, and the recordings grow old.
  const resumed = past.length > 0 ? { resumed: "crash", limits: { timeout_ms: Number.MAX_SAFE_INTEGER } } : {}
  const { bugs } = await runPlan(plan, { model, tools, store, input, run_id, ...resumed })
  if (bugs.length > 0) throw bugs[0]
  return { made, events: store.events, appends: store.appends }
}

/** The log of a run whose process died. */
async function leave(store: MemoryStore, run_id: string, past: readonly LogEvent[]): Promise<void> {
  const options = { cache_key: null, use_cache: true, max_concurrency: null, timeout_ms: null, deltas: false }
  const request = { source, input, secrets: {}, options }
  const created = await store.create(
    { run_id, caller: "", request, created_at: Date.now(), idempotency: null },
    "dead",
    60_000,
  )
  if (created.outcome !== "created") throw new Error(created.outcome)
  await store.append(created.lease, past)
  await store.release(created.lease)
}
