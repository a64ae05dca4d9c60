import assert from "node:assert/strict"
import { createHash } from "node:crypto"
import { systemClock } from "../../src/adapters/system/system-clock.ts"
import { systemRandom } from "../../src/adapters/system/system-random.ts"
import { compile } from "../../src/compile.ts"
import type { Planned } from "../../src/compiler/source-jobs.ts"
import type { Plan } from "../../src/plan/plan-shape.ts"
import type { ModelRequest, ModelTurn } from "../../src/ports/model.ts"
import { allRuns } from "../../src/ports/run-list.ts"
import type { RunRequest, RunStore } from "../../src/ports/store.ts"
import { defaultLimits, type RunPorts } from "../../src/run/context/run-context.ts"
import { announceTaken } from "../../src/run/context/taken-run.ts"
import { Runs } from "../../src/run/runs.ts"
import type { Candidate } from "../../src/workflows/load-workflow.ts"
import { agreementOf } from "../../src/workflows/releases/agreement-of.ts"
import { Shadows } from "../../src/workflows/shadows/shadows.ts"
import type { NamedWorkflow } from "../../src/workflows/workflow-folder.ts"
import { allQuestions } from "./all-questions.ts"
import { record, string } from "./build-types.ts"
import { InProcessTools } from "./in-process-tools.ts"
import { Random } from "./random.ts"
import { defaultOptions } from "./run-plan.ts"
import { answers, callsTools, ScriptedModel } from "./scripted-model.ts"
import { within } from "./within.ts"

// Completed runs of random workflows, and shadows of random candidates: whatever these are, no tool that acts is called for a shadow.

interface Tool {
  readonly name: string
  readonly requires: "none" | "trusted" | "strict" | null
  readonly readOnly: boolean
  readonly approval: boolean
}

interface Step {
  readonly kind: "agent" | "tool" | "ask" | "wait" | "file" | "batch" | "hosted"
  readonly name: string
  readonly tools: readonly string[]
  readonly words: string
  readonly list: boolean
}

interface World {
  readonly tools: readonly Tool[]
  readonly current: readonly Step[]
  readonly candidate: readonly Step[]
}

const words = ["a", "b", "c"]
const names = ["t0", "t1", "t2", "t3", "t4"]

function randomStep(random: Random, name: string): Step {
  const kinds = ["agent", "agent", "tool", "tool", "tool", "ask", "wait", "file"] as const
  return {
    kind: random.pick(kinds),
    name,
    tools: names.filter(() => random.chance(0.4)),
    words: random.pick(words),
    list: random.chance(0.2),
  }
}

function randomWorld(random: Random): World {
  const tools = names.map((name) => ({
    name,
    requires: random.pick(["none", "trusted", "strict", null, null] as const),
    readOnly: random.chance(0.25),
    approval: random.chance(0.15),
  }))
  const current = Array.from({ length: 1 + random.below(4) }, (_, at) => randomStep(random, `s${at}`))
  const candidate = current.flatMap((step): Step[] => {
    const choice = random.below(8)
    if (choice === 0) return []
    if (choice === 1) return [randomStep(random, step.name)]
    if (choice === 2) return [{ ...step, words: random.pick(words) }]
    return [step]
  })
  if (random.chance(0.4)) candidate.push(randomStep(random, "added"))
  if (random.chance(0.05)) candidate.push({ ...randomStep(random, "more"), kind: random.pick(["batch", "hosted"]) })
  return { tools, current, candidate }
}

function textOf(tools: readonly Tool[], steps: readonly Step[]): string {
  const declared = tools.map(({ name, requires, approval }) => {
    const about = [
      requires === null ? "" : `requires: ${requires}`,
      approval ? "approval: required" : "",
      "gives: trusted",
    ]
    return `tool ${name} from mcp.s.tool.${name} { ${about.join("  ")} }`
  })
  const shown: string[] = []
  const written = steps.map(({ kind, name, tools: used, words: said, list }) => {
    const loop = list ? " for item in input.items" : ""
    const text = list ? `${said} {{ item }}` : said
    const model = "model: model.m"
    const uses = used.length === 0 ? "" : `uses: [${used.map((one) => `tool.${one}`).join(", ")}]`
    switch (kind) {
      case "agent":
        shown.push(`${name}: agent.${name}`)
        return `agent ${name}${loop} { ${model}  ${uses}  instruction: "${text}"  output { text: string } }`
      case "batch":
        shown.push(`${name}: agent.${name}`)
        return `agent ${name} for item in input.items { ${model}  batch { within_hours: 24 }  instruction: "${said} {{ item }}"  output { text: string } }`
      case "hosted":
        shown.push(`${name}: agent.${name}`)
        return `agent ${name} { ${model}  hosted_tools: [{ type: "web_search" }]  instruction: "${text}"  output { text: string } }`
      case "tool": {
        const [one = "t0"] = used
        const call = (with_: string): string => `call tool.${one} { on_failure: skip  input { text: "${with_}" } }`
        shown.push(`${name}: dynamic.${name}`)
        return `dynamic { ${name}: ${list ? `[${call("{{ item }}")} for item in input.items]` : call(said)} }`
      }
      case "ask":
        shown.push(`${name}: ask.${name}`)
        return `ask ${name}${loop} { question: "${text}?"  output { go: boolean } }`
      case "wait":
        shown.push(`${name}: wait.${name}`)
        return `wait ${name} { until: "2026-01-01T00:00:00Z" }`
      case "file":
        shown.push(`${name}: dynamic.${name}`)
        return `dynamic { ${name}: call workflow.inner { input { text: "${said}" } } }`
    }
  })
  return `input { items: [string] }
provider p from openai { endpoint: "http://models.test/v1" }
model m from p { id: "m"  price { input: 1  output: 2 } }
mcp s { endpoint: "http://tools.test/mcp" }
workflow inner from "./inner.wire"
${declared.join("\n")}
${written.join("\n")}
output { one: 1 ${shown.join("  ")} }
`
}

/** A file that both versions call: it uses the same tools, and asks. */
function innerOf(random: Random, tools: readonly Tool[]): string {
  const { name } = random.pick(tools)
  const asks = random.chance(0.3)
  return `input { text: string }
mcp s { endpoint: "http://tools.test/mcp" }
tool x from mcp.s.tool.${name} { gives: trusted }
${asks ? `ask inside { question: "Inside?"  output { go: boolean } }` : ""}
output { done: call tool.x { on_failure: skip  input { text: input.text } } ${asks ? "  go: ask.inside.go" : ""} }
`
}

const digest = (text: string): string => createHash("sha256").update(text).digest("hex").slice(0, 12)

export interface ShadowsSeen {
  readonly shadows: number
  readonly agrees: number
  readonly disagrees: number
  readonly inconclusive: number
  /** Calls that were not made, and harmless ones that were. */
  readonly skipped: number
  readonly made: number
  /** Runs and candidates that the language refuses. */
  readonly refused: number
}

/** One completed run, and its shadow. Throws where the shadow calls a tool that acts, or leaves anything but its log. */
export async function shadowHistory(store: RunStore, seed: number): Promise<ShadowsSeen> {
  const random = new Random(seed)
  const world = randomWorld(random)
  const modules = { "inner.wire": innerOf(random, world.tools) }
  const none = { shadows: 0, agrees: 0, disagrees: 0, inconclusive: 0, skipped: 0, made: 0, refused: 1 }
  const sources = [world.current, world.candidate].map((steps) => textOf(world.tools, steps))
  const [before, after] = sources.map((source) => compile(source, { modules, file: "w.wire" }))
  if (before?.plan === undefined || after?.plan === undefined) return none
  const plans = new Map<string, Plan>([
    [sources[0] ?? "", before.plan],
    [sources[1] ?? "", after.plan],
  ])
  let isShadowing = false
  const acting: string[] = []
  let made = 0
  const tools = new InProcessTools({
    tools: Object.fromEntries(
      world.tools.map(({ name, readOnly }) => [
        name,
        {
          input: record({ text: string }),
          ...(readOnly && { annotations: { readOnlyHint: true } }),
          call: ({ text }) => {
            if (isShadowing) made++
            return { text: `${name} ${digest(JSON.stringify(text))}`, is_error: false }
          },
        },
      ]),
    ),
  })
  const model = new ScriptedModel((request: ModelRequest): ModelTurn => {
    const said = JSON.stringify(request.input)
    const first = digest(said)
    if (request.tools.length > 0 && request.turn === 1 && first < "c") {
      const calls = request.tools
        .filter((_, at) => digest(`${said}${at}`) < "a")
        .map(({ name }) => ({ name, arguments: { text: words[at(name)] ?? "" } }))
      if (calls.length > 0) return callsTools(calls, request)
    }
    return answers({ text: first.slice(0, 1) }, request)
  })
  const bugs: unknown[] = []
  const observed: Shadows[] = []
  const ports: RunPorts = {
    store,
    model,
    tools,
    clock: systemClock,
    random: systemRandom,
    bug: (error) => bugs.push(error),
    taken: (run) => observed[0]?.taken(run),
  }
  const planOf = async ({ source }: { readonly source: string }): Promise<Planned> =>
    ({ plan: plans.get(source) }) as unknown as Planned
  const runs = new Runs(ports, planOf, {
    owner: "shadower",
    leaseMs: 10_000,
    maxRuns: 4,
    maxQueued: 10,
    limits: defaultLimits,
  })
  const [current = "", next = ""] = sources
  const workflowOf = (source: string): { readonly name: string; readonly version: string } => ({
    name: "w",
    version: digest(source),
  })
  const candidate = {
    loaded: { source: next, file: "w.wire", modules },
    release: { share: 0, by: null, shadow: 1, agree_on: [], stop_when: null, names: [] },
    digest: digest(next),
    version: digest(next),
    issues: [],
  } as unknown as Candidate
  const folder = { get: () => ({ name: "w", serving: workflowOf(current), candidate }) as unknown as NamedWorkflow }
  const shadows = new Shadows({
    folder,
    ports,
    limits: defaultLimits,
    planOf,
    owner: "shadower",
    leaseMs: 10_000,
    costPerDay: 1e12,
    isBusy: () => false,
    isStopped: async () => false,
    compared: () => undefined,
  })
  await runs.recover()
  try {
    const request: RunRequest = {
      source: current,
      file: "w.wire",
      modules,
      input: { items: ["a", "b"] },
      secrets: {},
      options: { ...defaultOptions, cache_key: "shared", use_cache: true },
      workflow: { ...workflowOf(current), release: "current" },
    }
    const admitted = await runs.admit(before.plan, { caller: "ann", request, idempotency: null })
    assert.ok(admitted.outcome === "created")
    const { run_id } = admitted
    const end = await toEnd(store, run_id)
    if (end !== "workflow_completed") return none
    const parked = await store.waits.parked("ann")
    const spent = await spending(store)
    const calls = tools.calls.length
    isShadowing = true
    observed.push(shadows)
    announceTaken(ports, run_id, "ann", request, false)
    shadows.appended(run_id, await store.read(run_id, 0, 10_000))
    await within(60_000, "the shadow", shadows.idle())
    const harmless = new Map(
      world.tools.map(({ name, requires, readOnly, approval }) => [
        name,
        (requires === "none" || readOnly) && !approval,
      ]),
    )
    // In the called file the import says nothing of its tool.
    const readOnly = new Set(world.tools.flatMap((tool) => (tool.readOnly ? [tool.name] : [])))
    const inner = /from mcp\.s\.tool\.(\w+)/.exec(modules["inner.wire"])?.[1] ?? ""
    for (const { tool } of tools.calls.slice(calls)) {
      const isHarmless = tool === "x" ? readOnly.has(inner) : harmless.get(tool)
      if (isHarmless !== true) acting.push(tool)
    }
    assert.deepEqual(acting, [], `seed ${seed}: a shadow called a tool that acts`)
    assert.equal(await store.waits.parked("ann"), parked, `seed ${seed}: a shadow waits`)
    assert.deepEqual(await spending(store), spent, `seed ${seed}: a shadow was charged to its caller`)
    const listed = await store.list({ ...allRuns, release: "shadow", previews: true, limit: 1_000 })
    const own = listed.filter(({ workflow }) => workflow?.shadow_of === run_id)
    for (const one of own) {
      assert.ok(["completed", "failed", "cancelled"].includes(one.status), `seed ${seed}: a shadow is ${one.status}`)
      assert.deepEqual(await allQuestions(store, one.run_id), [], `seed ${seed}: a shadow asks`)
    }
    const { shadows: compared, inconclusive, agreement, skipped_effects } = agreementOf(own)
    const agrees = Math.round((agreement ?? 0) * compared)
    return {
      shadows: own.length,
      agrees,
      disagrees: compared - agrees,
      inconclusive,
      skipped: skipped_effects,
      made,
      refused: 0,
    }
  } finally {
    await shadows.close()
    await runs.drain(0)
    assert.deepEqual(bugs, [], `seed ${seed}`)
  }
}

function at(name: string): number {
  return name.length === 0 ? 0 : name.charCodeAt(name.length - 1) % words.length
}

async function spending(store: RunStore): Promise<unknown> {
  return store.ledger.spending({ by: "caller", caller: null, from: 0, to: 1e9 })
}

/** People answer whatever is asked. */
async function toEnd(store: RunStore, run_id: string): Promise<string> {
  const stop = new AbortController()
  const read = async (): Promise<string> => {
    for await (const { type } of store.follow(run_id, 0, stop.signal)) {
      if (/^workflow_(?:completed|failed|cancelled)$/.test(type)) return type
      if (type !== "run_waiting") continue
      for (const { id, status, kind } of await allQuestions(store, run_id)) {
        if (status !== "open") continue
        const answer = kind === "approval" ? { approve: id < "c", note: null } : { go: true }
        await store.questions.answer(run_id, id, { answer, answered_by: { caller: null, by: null } })
      }
    }
    throw new Error("The log ended without an end")
  }
  try {
    return await within(30_000, "the end", read())
  } finally {
    stop.abort()
  }
}
