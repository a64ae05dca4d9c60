import { openGate } from "../src/ports/gate.ts"
import { randomBytes } from "node:crypto"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { MemoryStore } from "../src/adapters/memory/memory-store.ts"
import { openSqliteStore } from "../src/adapters/sqlite/open-sqlite-store.ts"
import { systemRandom } from "../src/adapters/system/system-random.ts"
import { systemClock } from "../src/adapters/system/system-clock.ts"
import { createMasterKey } from "../src/adapters/vault/vault.ts"
import type { JsonObject } from "../src/base/json-value.ts"
import { compile } from "../src/compile.ts"
import type { Plan } from "../src/plan/plan-shape.ts"
import { Deadlines } from "../src/run/budget/deadlines.ts"
import { LightSignal } from "../src/base/light-signal.ts"
import { redactor } from "../src/run/secrets/redact.ts"
import type { LogEvent } from "../src/log/events.ts"
import type { Lease, NewRun, RunStore } from "../src/ports/store.ts"
import { assistantText } from "../src/log/messages.ts"
import type { ModelClient, ModelTurn } from "../src/ports/model.ts"
import type { ToolHost } from "../src/ports/tools.ts"
import { run } from "../src/run/run.ts"
import { defaultLimits } from "../src/run/context/run-context.ts"

// What the engine itself costs: CPU per agent with a model that answers at once, against two floors in the same run: the bare
// calls of that model under Promise.all, and these with the appends that the run makes.

const provider = `
secrets { key: string }
provider p from openai { endpoint: "https://model.test/v1"  api_key: secrets.key }
model m from p { id: "m-1" }
`
const reply = `output { summary: string  score: integer }`

const sources = {
  one: `${provider}
input { topic: string }
agent a { model: model.m  instruction: "Summarise {{ input.topic }} for an impatient reader."  ${reply} }
output { summary: agent.a.summary }`,
  fan: `${provider}
input { topic: string }
agent first { model: model.m  instruction: "Plan {{ input.topic }}."  ${reply} }
${[1, 2, 3, 4, 5, 6, 7, 8]
  .map((n) => `agent w${n} { model: model.m  instruction: "Part ${n} of {{ agent.first.summary }}."  ${reply} }`)
  .join("\n")}
agent last {
  model: model.m
  instruction: "Join ${[1, 2, 3, 4, 5, 6, 7, 8].map((n) => `{{ agent.w${n}.summary }}`).join(" ")}."
  ${reply}
}
output { summary: agent.last.summary }`,
  loop: `${provider}
input { items: [{ path: string, text: string }] }
agent each for { path, text } in input.items {
  model: model.m
  instruction: "Review {{ path }}: {{ text }}"
  ${reply}
}
output { scores: agent.each.*.score }`,
}

const usage = {
  input_tokens: 812,
  output_tokens: 95,
  cached_tokens: 0,
  written_tokens: 0,
  reasoning_tokens: 0,
  cost: null,
}
const output = { summary: "The owls were asleep and the report was late. ".repeat(4), score: 7 }
const text = JSON.stringify(output)

const model: ModelClient = {
  turn: (): Promise<ModelTurn> =>
    Promise.resolve({
      kind: "output",
      output,
      message: assistantText(text),
      calls: [
        { turn: 1, attempt: 1, started_at: "2026-11-15T01:00:00.000Z", duration_ms: 0, usage, format: "json_schema" },
      ],
      usage,
    }),
}
const tools: ToolHost = { open: () => Promise.reject(new Error("no tools here")) }
const watch = {
  signal: new AbortController().signal,
  now: () => Date.now(),
  gate: openGate,
  retried: () => Promise.resolve(),
  delta: () => undefined,
  redact: <T>(value: T) => value,
  redactStream: () => redactor({}).stream(),
}

function planOf(source: string): Plan {
  const { plan, diagnostics } = compile(source)
  if (plan === undefined) throw new Error(JSON.stringify(diagnostics))
  return plan
}

const deadlines = new Deadlines(systemClock)
let count = 0

function newRun(input: JsonObject): NewRun {
  const request = {
    source: "",
    input,
    secrets: { key: "sk-bench-0123456789abcdef" },
    options: { cache_key: null, use_cache: true, max_concurrency: null, timeout_ms: null, deltas: false },
  }
  return { run_id: `run-${++count}`, caller: "", request, created_at: Date.now(), idempotency: null }
}

async function create(store: RunStore, input: JsonObject): Promise<{ lease: Lease; made: NewRun }> {
  const made = newRun(input)
  const created = await store.create(made, "bench", 60_000)
  if (created.outcome !== "created") throw new Error("not created")
  return { lease: created.lease, made }
}

/** Retention: else the heap grows by every run, and the collector's work on it is measured too. */
async function retain(store: RunStore): Promise<void> {
  if (store instanceof MemoryStore && count % 200 === 0) await store.sweep(Date.now() + 1)
}

async function oneRun(plan: Plan, input: JsonObject, store: RunStore): Promise<void> {
  const { lease, made } = await create(store, input)
  const end = await run(
    {
      plan,
      request: made.request,
      caller: "",
      created_at: made.created_at,
      held: { lease, leave: new LightSignal(), gate: openGate },
      resumed: null,
      deadlines,
    },
    { store, model, tools, clock: systemClock, random: systemRandom, bug: reportBug },
    defaultLimits,
  )
  if (end?.type !== "workflow_completed") throw new Error(`ended with ${JSON.stringify(end)}`)
  await retain(store)
}

function reportBug(error: unknown): void {
  process.stderr.write(`${String(error)}\n`)
}

/** The appends that a run makes. */
async function appendsOf(plan: Plan, input: JsonObject): Promise<LogEvent[][]> {
  const batches: LogEvent[][] = []
  class Recording extends MemoryStore {
    override append(lease: Lease, events: readonly LogEvent[]): Promise<void> {
      batches.push([...events])
      return super.append(lease, events)
    }
  }
  await oneRun(plan, input, new Recording(systemClock))
  return batches
}

/** What any engine would have to do: the run's appends and the model's calls, and nothing else. */
async function bareRun(
  batches: readonly LogEvent[][],
  agents: number,
  input: JsonObject,
  store: RunStore,
): Promise<void> {
  const { lease } = await create(store, input)
  await Promise.all(Array.from({ length: agents }, () => model.turn(floorRequest, watch)))
  for (const batch of batches) await store.append(lease, batch)
  await retain(store)
}

/** CPU milliseconds of the work: the least of three, for others who use the machine can only add to it. */
async function cpu(work: () => Promise<void>): Promise<number> {
  let least = Number.POSITIVE_INFINITY
  for (let time = 0; time < 3; time++) {
    const before = process.cpuUsage()
    await work()
    const { user, system } = process.cpuUsage(before)
    least = Math.min(least, (user + system) / 1000)
  }
  return least
}

/** Does the work `width` at a time, as a service does. */
async function sideBySide(times: number, width: number, work: () => Promise<void>): Promise<void> {
  let left = times
  await Promise.all(
    Array.from({ length: width }, async () => {
      while (left-- > 0) await work()
    }),
  )
}

const stores: [string, () => Promise<{ store: RunStore; close: () => Promise<void> }>][] = [
  [
    "memory",
    async () => {
      const store = new MemoryStore(systemClock)
      return { store, close: () => store.close() }
    },
  ],
  [
    "SQLite, encrypted",
    async () => {
      const folder = mkdtempSync(join(tmpdir(), "wire-bench-"))
      const masterKey = createMasterKey(randomBytes(32))
      const store = await openSqliteStore({ path: join(folder, "runs.db"), masterKey, clock: systemClock })
      const close = async (): Promise<void> => {
        await store.close()
        rmSync(folder, { recursive: true, force: true })
      }
      return { store, close }
    },
  ],
]

const items = (length: number): JsonObject => ({
  items: Array.from({ length }, (_, index) => ({ path: `src/file-${index}.ts`, text: "const x = 1\n".repeat(5) })),
})

const cases: { name: string; plan: Plan; input: JsonObject; agents: number; runs: number }[] = [
  { name: "1 agent", plan: planOf(sources.one), input: { topic: "owls" }, agents: 1, runs: 5000 },
  { name: "1 → 8 → 1", plan: planOf(sources.fan), input: { topic: "owls" }, agents: 10, runs: 300 },
  { name: "loop of 100", plan: planOf(sources.loop), input: items(100), agents: 100, runs: 30 },
  { name: "loop of 1,000", plan: planOf(sources.loop), input: items(1000), agents: 1000, runs: 3 },
  { name: "loop of 10,000", plan: planOf(sources.loop), input: items(10_000), agents: 10_000, runs: 1 },
]

const floorRequest = { input: [] } as unknown as Parameters<ModelClient["turn"]>[0]
const width = 20

for (const [storeName, open] of stores) {
  process.stdout.write(`\n${storeName}: CPU per agent; times the bare calls; times the bare calls and appends\n`)
  for (const { name, plan, input, agents, runs } of cases) {
    const { store, close } = await open()
    const batches = await appendsOf(plan, input)
    await sideBySide(runs, width, () => oneRun(plan, input, store))
    const spent = await cpu(() => sideBySide(runs, width, () => oneRun(plan, input, store)))
    await sideBySide(Math.ceil(runs / 4), width, () => bareRun(batches, agents, input, store))
    const bare = await cpu(() => sideBySide(runs, width, () => bareRun(batches, agents, input, store)))
    const calls = await cpu(() =>
      sideBySide(runs, width, async () => {
        await Promise.all(Array.from({ length: agents }, () => model.turn(floorRequest, watch)))
      }),
    )
    await close()
    const per = (ms: number): string => `${(ms / (runs * agents)).toFixed(4)} ms`
    const times = (ms: number): string => `${(spent / Math.max(ms, 0.001)).toFixed(1)}x`
    const figures = [name.padEnd(16), per(spent), times(calls).padStart(9), times(bare).padStart(7), `of ${per(bare)}`]
    process.stdout.write(`  ${figures.join("  ")}\n`)
  }
}
deadlines.close()
