import assert from "node:assert/strict"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import type { TestContext } from "node:test"
import { createEgress } from "../../src/adapters/egress/egress.ts"
import { MemoryStore } from "../../src/adapters/memory/memory-store.ts"
import { createModelClient } from "../../src/adapters/model-turn/model-client.ts"
import { modelApi } from "../../src/cli/compose/model-apis.ts"
import { openSqliteStore } from "../../src/adapters/sqlite/open-sqlite-store.ts"
import { systemRandom } from "../../src/adapters/system/system-random.ts"
import { systemClock } from "../../src/adapters/system/system-clock.ts"
import { createMasterKey } from "../../src/adapters/vault/vault.ts"
import type { JsonObject } from "../../src/base/json-value.ts"
import { compile } from "../../src/compile.ts"
import { startDemoServer } from "../../src/demo/demo-server.ts"
import type { Plan } from "../../src/plan/plan-shape.ts"
import type { LogEvent } from "../../src/log/events.ts"
import type { ModelClient } from "../../src/ports/model.ts"
import type { RunOptions, RunStore } from "../../src/ports/store.ts"
import { reduce } from "../../src/log/reduce.ts"
import { initialState } from "../../src/log/run-state.ts"
import { defaultLimits } from "../../src/run/context/run-context.ts"
import { Runs } from "../../src/run/runs.ts"
import { record, string } from "../support/build-types.ts"
import { atStrength } from "../support/strength.ts"
import { InProcessTools } from "../support/in-process-tools.ts"
import { dataOf, errorOf, resultOf, typesOf, defaultOptions } from "../support/run-plan.ts"
import { within } from "../support/within.ts"

// The whole way from text to events, over real HTTP to the demo model, on both stores of one machine.

const stores: Record<string, (t: TestContext) => Promise<RunStore>> = {
  memory: async () => new MemoryStore(systemClock),
  sqlite: async (t) => {
    const folder = mkdtempSync(join(tmpdir(), "wire-run-"))
    t.after(() => rmSync(folder, { recursive: true, force: true }))
    const masterKey = createMasterKey(new Uint8Array(32).fill(3))
    return openSqliteStore({ path: join(folder, "runs.db"), masterKey, clock: systemClock })
  },
}

interface Service {
  readonly runs: Runs
  readonly store: RunStore
  readonly tools: InProcessTools
  readonly run: (source: string, input?: JsonObject, options?: Partial<RunOptions>) => Promise<{ events: LogEvent[] }>
}

async function serve(t: TestContext, open: (t: TestContext) => Promise<RunStore>): Promise<Service> {
  const demo = await startDemoServer()
  const egress = createEgress({ policy: { kind: "private" } })
  const store = await open(t)
  const model: ModelClient = createModelClient({
    api: modelApi,
    egress,
    clock: systemClock,
    random: systemRandom,
    demo: { endpoint: demo.endpoint, egress },
  })
  const tools = new InProcessTools({
    tools: {
      find: {
        input: record({ query: string }),
        call: ({ query }) => ({ text: `found ${JSON.stringify(query)}`, is_error: false }),
      },
    },
  })
  const bugs: unknown[] = []
  const runs = new Runs(
    { store, model, tools, clock: systemClock, random: systemRandom, bug: (error) => bugs.push(error) },
    async ({ source }) => ({ plan: planOf(source) }),
    { owner: "test", leaseMs: 10_000, maxRuns: 100, maxQueued: 100, limits: defaultLimits },
  )
  t.after(async () => {
    await runs.drain(0)
    await store.close()
    await egress.close()
    await demo.close()
    assert.deepEqual(bugs, [])
  })
  return {
    runs,
    store,
    tools,
    async run(source, input = {}, options = {}) {
      const request = { source, input, secrets: {}, options: { ...defaultOptions, ...options } }
      const admission = await runs.admit(planOf(source), { caller: "", request, idempotency: null })
      assert.equal(admission.outcome, "created")
      const run_id = admission.outcome === "created" ? admission.run_id : ""
      const events: LogEvent[] = []
      const following = (async () => {
        for await (const event of store.follow(run_id, 0, new AbortController().signal)) events.push(event)
      })()
      await within(30_000, "the end of the run", following)
      assert.deepEqual(
        events.map(({ id }) => id),
        events.map((_, index) => index + 1),
      )
      return { events }
    },
  }
}

function planOf(source: string): Plan {
  const { plan, diagnostics } = compile(source)
  if (plan === undefined) throw new Error(JSON.stringify(diagnostics))
  return plan
}

const head = (id = "demo"): string => `
provider p from openai { endpoint: "demo"  inference { retry_base_delay_ms: 5 } }
model m from p { id: "${id}" }
`

const review = `${head()}
input { title: string  files: [{ path: string, patch: string }]  reviewer: maybe string }
mcp s { endpoint: "http://tools.test/mcp" }
tool find from mcp.s.tool.find
schema finding {
    path: string
    severity: enum { low, medium, high }
    advice: variant kind { rewrite { patch: string } question { text: string } }
}
dynamic { related: call tool.find { input { query: input.title } } }
agent review for { path, patch } in input.files {
    model: model.m
    instruction: "Review {{ path }}:\\n{{ patch }}"
    output { findings: [schema.finding]  ok: boolean }
}
agent verdict {
    model: model.m
    uses: [tool.find { max_calls: 2 }]
    instruction: """
        Reviewer: {{ input.reviewer ?? "anyone" }}
        Findings: {{ agent.review.*.findings }}
        Related: {{ dynamic.related }}
    """
    output { approve: boolean  summary: string }
}
agent further { model: model.m  context: agent.verdict  instruction: "And now?"  output { more: string } }
agent short {
    model: model.m
    context: compact agent.further { model: model.m }
    instruction: "In short?"
    output { word: string }
}
output { approve: agent.verdict.approve  oks: agent.review.*.ok  word: agent.short.word  related: dynamic.related }
`

const files = ["a.ts", "b.ts", "c.ts"].map((path) => ({ path, patch: `+ ${path}` }))

for (const [name, open] of Object.entries(stores)) {
  test(`${name}: a loop, tools, contexts, from text to result`, async (t) => {
    const { run, tools } = await serve(t, open)
    const { events } = await run(review, { title: "Wires", files, reviewer: null })
    const result = resultOf({ events }) as JsonObject
    assert.equal(typeof result["approve"], "boolean")
    assert.equal((result["oks"] as unknown[]).length, 3)
    assert.equal(result["related"], 'found "Wires"')
    assert.equal(dataOf(events, "context_compacted").length, 1)
    assert.ok(tools.calls.length >= 2)
    const state = events.reduce(reduce, initialState())
    assert.equal(state.status, "completed")
    assert.deepEqual(
      state.nodes.map((node) => node.state),
      state.nodes.map(() => "completed"),
    )
    assert.deepEqual(state.usage, dataOf(events, "workflow_completed")[0]?.usage)
    assert.ok(state.usage.input_tokens > 0)
  })

  test(`${name}: a flaky model is retried, a sloppy one repaired, and the log says so`, async (t) => {
    const { run } = await serve(t, open)
    for (const id of ["demo-flaky", "demo-sloppy"]) {
      const { events } =
        await run(`${head(id)} agent a { model: model.m instruction: "Greet." output { text: string n: integer } }
        output { n: agent.a.n }`)
      const [retried] = dataOf(events, "agent_retried")
      const added = Array.isArray(retried?.added) ? retried.added.map(({ role }) => role) : retried?.added
      // An answer that did not come has nothing to be said about.
      assert.deepEqual(added, id === "demo-sloppy" ? ["assistant", "user"] : undefined, id)
      assert.equal(typeof (resultOf({ events }) as JsonObject)["n"], "number", id)
    }
  })

  test(`${name}: deltas are events when asked for, and add up to what was said`, async (t) => {
    const { run } = await serve(t, open)
    const source = `${head()} agent a { model: model.m instruction: "Greet." output { text: string } } output { t: agent.a.text }`
    const { events } = await run(source, {}, { deltas: true })
    const said = dataOf(events, "agent_delta")
      .map(({ text }) => text)
      .join("")
    assert.deepEqual(JSON.parse(said), dataOf(events, "agent_completed")[0]?.output)
    assert.deepEqual(dataOf((await run(source)).events, "agent_delta"), [])
  })

  test(`${name}: an unknown model is a provider error that names the agent and the status`, async (t) => {
    const { run } = await serve(t, open)
    const { events } = await run(`${head("demo-9")} agent a { model: model.m instruction: "x" output { t: string } }`)
    assert.equal(errorOf({ events }).kind, "provider_error")
    assert.equal(errorOf({ events }).issues[0]?.path, "agent.a")
    assert.equal(errorOf({ events }).issues[0]?.upstream_status, 404)
    assert.deepEqual(typesOf(events).slice(-2), ["agent_failed", "workflow_failed"])
  })

  test(`${name}: cancelled while a slow model thinks, a run ends at once`, async (t) => {
    const { runs, store } = await serve(t, open)
    const source = `${head("demo-slow")} agent a for i in input.xs { model: model.m instruction: "{{ i }}" output { t: string } } input { xs: [integer] }`
    const request = {
      source,
      input: { xs: [1, 2, 3, 4] },
      secrets: {},
      options: { ...defaultOptions, max_concurrency: 2 },
    }
    const admission = await runs.admit(planOf(source), { caller: "", request, idempotency: null })
    const run_id = admission.outcome === "created" ? admission.run_id : ""
    for await (const event of store.follow(run_id, 0, new AbortController().signal)) {
      if (event.type === "agent_started") await runs.cancel(run_id)
      if (event.type === "workflow_cancelled") return
    }
    assert.fail("the run was not cancelled")
  })

  test(`${name}: a long loop over HTTP`, async (t) => {
    const { run } = await serve(t, open)
    const source = `${head()} input { xs: [integer] }
      agent a for x in input.xs { model: model.m instruction: "Item {{ x }}" output { t: string } }
      output { all: agent.a.*.t }`
    const length = atStrength(200, 1000)
    const xs = Array.from({ length }, (_, index) => index)
    const { events } = await run(source, { xs }, { max_concurrency: 20 })
    assert.equal(((resultOf({ events }) as JsonObject)["all"] as unknown[]).length, length)
    assert.equal(events.length, 2 + 2 + 2 * length + 1)
  })
}
