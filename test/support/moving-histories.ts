import assert from "node:assert/strict"
import { createHash } from "node:crypto"
import { systemClock } from "../../src/adapters/system/system-clock.ts"
import { systemRandom } from "../../src/adapters/system/system-random.ts"
import type { JsonValue } from "../../src/base/json-value.ts"
import { compile } from "../../src/compile.ts"
import type { LogEvent, Question } from "../../src/log/events.ts"
import type { Plan } from "../../src/plan/plan-shape.ts"
import type { ModelRequest } from "../../src/ports/model.ts"
import type { RunRequest, RunStore } from "../../src/ports/store.ts"
import { defaultLimits } from "../../src/run/context/run-context.ts"
import { Runs } from "../../src/run/runs.ts"
import { allQuestions } from "./all-questions.ts"
import { record, string } from "./build-types.ts"
import { InProcessTools } from "./in-process-tools.ts"
import { Random } from "./random.ts"
import { defaultOptions } from "./run-plan.ts"
import { answers, ScriptedModel } from "./scripted-model.ts"
import { within } from "./within.ts"

// Runs that wait, and move to versions that random edits make: whatever happens, they end like a new run of their last version, and do nothing twice.

interface Step {
  readonly kind: "agent" | "tool" | "ask"
  readonly name: string
  readonly deps: readonly string[]
  /** Another number is another text. */
  readonly text: number
  /** An agent for each item, or a question for each. */
  readonly list: boolean
  /** An `ask` with a field that may be null. */
  readonly extra: boolean
}

interface Version {
  readonly steps: readonly Step[]
  /** Names of the steps that the output shows. */
  readonly shown: readonly string[]
}

const path = ({ kind, name }: Step): string => `${kind === "tool" ? "dynamic" : kind}.${name}`

function randomStep(random: Random, name: string, before: readonly Step[]): Step {
  const deps = before.filter(() => random.chance(0.4)).map((one) => one.name)
  const kind = random.pick(["agent", "tool", "ask", "ask"] as const)
  return { kind, name, deps, text: 0, list: kind !== "tool" && random.chance(0.25), extra: false }
}

function randomVersion(random: Random): Version {
  const steps: Step[] = []
  for (let at = 0; at < 2 + random.below(5); at++) steps.push(randomStep(random, `s${at}`, steps))
  return { steps, shown: shownOf(random, steps) }
}

function shownOf(random: Random, steps: readonly Step[]): string[] {
  return steps.filter(() => random.chance(0.6)).map(({ name }) => name)
}

function edited(random: Random, { steps, shown }: Version, made: number): Version {
  const at = random.below(Math.max(1, steps.length))
  const chosen = steps[at]
  const known = (list: readonly Step[]): ReadonlySet<string> => new Set(list.map(({ name }) => name))
  const replaced = (change: Partial<Step>): Version => ({
    shown,
    steps: steps.map((step, position) => (position === at ? { ...step, ...change } : step)),
  })
  switch (random.below(6)) {
    case 0:
      return chosen === undefined ? { steps, shown } : replaced({ text: chosen.text + 1 })
    case 1: {
      const rest = steps.filter((_, position) => position !== at)
      const left = known(rest)
      return {
        steps: rest.map((step) => ({ ...step, deps: step.deps.filter((name) => left.has(name)) })),
        shown: shown.filter((name) => left.has(name)),
      }
    }
    case 2: {
      const step = randomStep(random, random.chance(0.2) ? `s${made % 3}` : `n${made}`, steps)
      return known(steps).has(step.name) ? { steps, shown } : { steps: [...steps, step], shown: [...shown, step.name] }
    }
    case 3:
      return chosen?.kind === "ask" ? replaced({ extra: true }) : { steps, shown }
    case 4:
      return { steps, shown: shownOf(random, steps) }
    default:
      return chosen === undefined ? { steps, shown } : replaced({ deps: chosen.deps.slice(1) })
  }
}

function textOf({ steps, shown }: Version): string {
  const values = new Map(
    steps.map((step) => {
      const field = step.kind === "agent" ? ".text" : step.kind === "ask" ? ".go" : ""
      return [step.name, step.list ? path(step) : `${path(step)}${field}`]
    }),
  )
  const written = steps.map((step) => {
    const words = [step.list ? "{{ item }}" : "", ...step.deps.map((name) => `{{ ${values.get(name) ?? ""} }}`)]
    const text = `${step.name} v${step.text} ${words.join(" ")}`
    const loop = step.list ? " for item in input.items" : ""
    if (step.kind === "tool") return `dynamic { ${step.name}: call tool.note { input { text: "${text}" } } }`
    if (step.kind === "agent") {
      return `agent ${step.name}${loop} { model: model.m  instruction: "${text}"  output { text: string } }`
    }
    const extra = step.extra ? "  extra: maybe string" : ""
    return `ask ${step.name}${loop} { question: "${text}"  output { go: boolean${extra} } }`
  })
  return `input { items: [string] }
provider p from openai { endpoint: "http://models.test/v1" }
model m from p { id: "m" }
mcp s { endpoint: "http://tools.test/mcp" }
tool note from mcp.s.tool.note { input { text: string } output { noted: string } }
${written.join("\n")}
output { one: 1 ${shown.map((name) => `${name}: ${values.get(name) ?? ""}`).join("  ")} }
`
}

const digest = (text: string): string => createHash("sha256").update(text).digest("hex").slice(0, 8)

/** A process with a model, a tool and people that always give the same to the same. */
class World {
  readonly store: RunStore
  readonly runs: Runs
  readonly asked: string[] = []
  readonly noted: string[] = []
  readonly bugs: unknown[] = []

  constructor(store: RunStore) {
    this.store = store
    const model = new ScriptedModel((request: ModelRequest) => {
      const text = JSON.stringify(request.input)
      this.asked.push(text)
      return answers({ text: digest(text) }, request)
    })
    const tools = new InProcessTools({
      tools: {
        note: {
          input: record({ text: string }),
          output: record({ noted: string }),
          call: ({ text }) => {
            this.noted.push(text as string)
            const result = { noted: digest(text as string) }
            return { structured: result, text: JSON.stringify(result), is_error: false }
          },
        },
      },
    })
    this.runs = new Runs(
      { store, model, tools, clock: systemClock, random: systemRandom, bug: (error) => this.bugs.push(error) },
      async ({ source }) => ({ plan: planOf(source) }),
      { owner: "mover", leaseMs: 10_000, maxRuns: 4, maxQueued: 10, limits: defaultLimits },
    )
  }

  async start(request: RunRequest): Promise<string> {
    const admitted = await this.runs.admit(planOf(request.source), { caller: "", request, idempotency: null })
    assert.ok(admitted.outcome === "created")
    return admitted.run_id
  }

  /** Its next wait or end after an event. */
  async next(run_id: string, after: number): Promise<LogEvent> {
    const stop = new AbortController()
    const read = async (): Promise<LogEvent> => {
      for await (const event of this.store.follow(run_id, after, stop.signal)) {
        if (/^(?:run_waiting|workflow_(?:completed|failed|cancelled))$/.test(event.type)) return event
      }
      throw new Error("The log ended without an end")
    }
    try {
      return await within(30_000, "a wait or an end", read())
    } finally {
      stop.abort()
    }
  }

  async open(run_id: string): Promise<Question[]> {
    return (await allQuestions(this.store, run_id)).filter(({ status }) => status === "open")
  }

  async answer(run_id: string, { id, question }: Question): Promise<void> {
    const answer = { go: digest(question) < "8" }
    const given = { answer, answered_by: { caller: null, by: null } }
    assert.equal((await this.store.questions.answer(run_id, id, given))?.stored, true)
  }
}

const plans = new Map<string, Plan>()

function planOf(source: string): Plan {
  const known = plans.get(source)
  if (known !== undefined) return known
  const { plan, diagnostics } = compile(source)
  assert.ok(plan !== undefined, `${JSON.stringify(diagnostics.map(({ message }) => message))}\n${source}`)
  plans.set(source, plan)
  return plan
}

const input = { items: ["a", "b"] }

function requestFor(version: Version): RunRequest {
  const source = textOf(version)
  const workflow = { name: "w", version: digest(source) }
  return { source, input, secrets: {}, options: defaultOptions, workflow }
}

export interface Seen {
  readonly moves: number
  readonly asks: number
  readonly stays: number
}

/** One run from its start to its end, with moves at its waits. Throws where it does not end like a new one, or does something twice. */
export async function movingHistory(store: RunStore, seed: number): Promise<Seen> {
  const world = new World(store)
  await world.runs.recover()
  try {
    return await history(world, seed)
  } finally {
    await world.runs.drain(0)
    assert.deepEqual(world.bugs, [], `seed ${seed}`)
  }
}

async function history(world: World, seed: number): Promise<Seen> {
  const { store } = world
  const random = new Random(seed)
  const seen = { moves: 0, asks: 0, stays: 0 }
  let version = randomVersion(random)
  let request = requestFor(version)
  const run_id = await world.start(request)
  let end = await world.next(run_id, 0)
  for (let made = 0; end.type === "run_waiting"; made++) {
    let next = version
    for (let edits = random.below(3); edits > 0; edits--) next = edited(random, next, made)
    const wanted = requestFor(next)
    if (wanted.source !== request.source) {
      const from = request.workflow?.version ?? ""
      const moved = { ...wanted, workflow: { name: "w", version: digest(wanted.source), moved_from: from } }
      const job = {
        run_id,
        caller: "",
        created_at: Date.now(),
        before: planOf(request.source),
        after: planOf(moved.source),
        request,
        moved,
      }
      const dry = await world.runs.move({ ...job, dryRun: true })
      const done = await world.runs.move({ ...job, dryRun: false })
      assert.deepEqual(done, dry, `seed ${seed}`)
      assert.notEqual(done.outcome, "gone")
      if (done.outcome === "stays") seen.stays++
      else {
        seen[done.outcome === "moves" ? "moves" : "asks"]++
        version = next
        request = moved
        assert.equal((await store.request(run_id)).source, moved.source)
        end = await world.next(run_id, end.id)
        if (end.type !== "run_waiting") break
      }
    }
    let questions = await world.open(run_id)
    // A run that moved may be at work on its new steps.
    while (questions.length === 0 && end.type === "run_waiting") {
      end = await world.next(run_id, end.id)
      questions = await world.open(run_id)
    }
    if (end.type !== "run_waiting") break
    await world.answer(run_id, random.pick(questions))
    end = await world.next(run_id, end.id)
  }
  const asked = [...world.asked]
  const noted = [...world.noted]
  assert.equal(end.type, "workflow_completed", `seed ${seed}: ${JSON.stringify(end.data)}`)
  assert.equal(new Set(asked).size, asked.length, `seed ${seed}: a model was asked twice`)
  assert.equal(new Set(noted).size, noted.length, `seed ${seed}: a tool was called twice`)
  const fresh = await freshOutput(world, request)
  assert.deepEqual(end.type === "workflow_completed" && end.data.output.result, fresh, `seed ${seed}`)
  return seen
}

/** What a new run of the version gives, with the same results of models, tools and people. */
async function freshOutput(world: World, { source, workflow }: RunRequest): Promise<JsonValue> {
  const request = { source, input, secrets: {}, options: defaultOptions, ...(workflow && { workflow }) }
  const run_id = await world.start(request)
  let end = await world.next(run_id, 0)
  while (end.type === "run_waiting") {
    for (const question of await world.open(run_id)) await world.answer(run_id, question)
    end = await world.next(run_id, end.id)
  }
  assert.equal(end.type, "workflow_completed", JSON.stringify(end.data))
  return end.type === "workflow_completed" ? end.data.output.result : null
}
