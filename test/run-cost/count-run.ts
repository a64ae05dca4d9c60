import { LightSignal } from "../../src/base/light-signal.ts"
import { getHeapStatistics } from "node:v8"
import { openMemoryStore } from "../../src/adapters/memory/memory-store.ts"
import { createModelClient } from "../../src/adapters/model-turn/model-client.ts"
import { responsesApi } from "../../src/adapters/model-apis/responses.ts"
import { systemRandom } from "../../src/adapters/system/system-random.ts"
import { systemClock } from "../../src/adapters/system/system-clock.ts"
import { compile } from "../../src/compile.ts"
import type { Egress, EgressResponse } from "../../src/ports/egress.ts"
import { defaultLimits } from "../../src/run/context/run-context.ts"
import { Runs } from "../../src/run/runs.ts"

// Prints how many bytes one run of one agent with the memory store makes, from its admission to its end. V8 must not
// compile this (see the test): compiled code leaves out objects that nobody sees, sometimes.

export interface RunCost {
  readonly bytes: number
}

const source = `
input { topic: string }
secrets { key: string }
provider p from openai { endpoint: "https://model.test/v1"  api_key: secrets.key }
model m from p { id: "m-1" }
agent a {
  model: model.m
  instruction: "Summarise {{ input.topic }} for an impatient reader."
  output { summary: string  score: integer }
}
output { summary: agent.a.summary }`

const said = JSON.stringify({ summary: "The owls were asleep and the report was late. ".repeat(4), score: 7 })
const answer = JSON.stringify({
  id: "resp_1",
  object: "response",
  status: "completed",
  output: [{ type: "message", id: "msg_1", role: "assistant", content: [{ type: "output_text", text: said }] }],
  usage: { input_tokens: 812, output_tokens: 95, total_tokens: 907 },
})

const response: EgressResponse = {
  status: 200,
  headers: { "content-type": "application/json" },
  url: "https://model.test/v1/responses",
  body: { [Symbol.asyncIterator]: () => Promise.reject(new Error("Read as a text")) } as never,
  text: () => Promise.resolve(answer),
  discard: () => undefined,
}
const egress: Egress = {
  request: () => Promise.resolve(response),
  fetch: () => Promise.reject(new Error("Not used")),
  close: () => Promise.resolve(),
}

const { plan, diagnostics } = compile(source)
if (plan === undefined) throw new Error(JSON.stringify(diagnostics))
const store = openMemoryStore(systemClock)
const runs = new Runs(
  {
    store,
    model: createModelClient({
      egress,
      clock: systemClock,
      random: systemRandom,
      demo: null,
      api: () => responsesApi,
    }),
    tools: { open: () => Promise.reject(new Error("No tools here")) },
    clock: systemClock,
    random: systemRandom,
    bug: (error) => {
      throw error
    },
  },
  () => Promise.reject(new Error("Nothing is resumed")),
  { owner: "count", leaseMs: 600_000, maxRuns: 10, maxQueued: 10, limits: defaultLimits },
)
const never = new LightSignal()

async function oneRun(): Promise<void> {
  if (plan === undefined) return
  const admitted = await runs.admit(plan, {
    caller: "",
    request: {
      source,
      input: { topic: "owls" },
      secrets: { key: "sk-0123456789abcdefghij" },
      options: { cache_key: null, use_cache: true, max_concurrency: null, timeout_ms: null, deltas: false },
    },
    idempotency: null,
  })
  if (admitted.outcome !== "created") throw new Error(admitted.outcome)
  const end = await runs.ending(admitted.run_id, never)
  if (end?.type !== "workflow_completed") throw new Error(`The run ended with ${end?.type}`)
}

async function manyRuns(count: number): Promise<void> {
  for (let run = 0; run < count; run++) await oneRun()
}

const counted = 200
await manyRuns(500)
globalThis.gc?.()
const before = getHeapStatistics().used_heap_size
await manyRuns(counted)
const bytes = (getHeapStatistics().used_heap_size - before) / counted

await runs.drain(0)
console.log(JSON.stringify({ bytes } satisfies RunCost))
