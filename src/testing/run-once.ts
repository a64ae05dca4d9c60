import type { JsonObject } from "../base/json-value.ts"
import { inputOf } from "../run/values/input-of.ts"
import type { Plan } from "../plan/plan-shape.ts"
import { openGate } from "../ports/gate.ts"
import type { RunOptions, RunStore } from "../ports/store.ts"
import type { Deadlines } from "../run/budget/deadlines.ts"
import { LightSignal } from "../base/light-signal.ts"
import type { LogEvent } from "../log/events.ts"
import { run } from "../run/run.ts"
import type { RunLimits, RunPorts } from "../run/context/run-context.ts"
import type { RunValues } from "../run/context/run-values.ts"
import {
  GivenResults,
  positionOf,
  stepResult,
  waitResult,
  type GivenOne,
  type GivenValue,
  type Shortage,
} from "./given-results.ts"
import { GivenTools } from "./given-tools.ts"
import { storeFixtures, textsOfFiles, type FileTexts, type Fixture } from "./fixtures.ts"
import type { GivenAnswer, ObservedRun } from "./observe-run.ts"
import { observeRun } from "./observe-run.ts"

/** What tests run on. */
export interface TestEngine {
  readonly clock: RunPorts["clock"]
  readonly random: RunPorts["random"]
  readonly limits: RunLimits
  readonly deadlines: Deadlines
  bug(error: unknown): void
  /** What one run needs: a store of its own, and its own place in the recording. */
  open(secrets: JsonObject): TestPorts
}

export interface TestPorts {
  readonly store: RunStore
  /** Appended to the store, with what is kept of them. */
  readonly events: readonly LogEvent[]
  readonly model: RunPorts["model"]
  readonly tools: RunPorts["tools"]
  readonly code?: RunPorts["code"]
  readonly files?: RunPorts["files"]
  /** Exchanges that were asked for and are not recorded, each with what is nearest. */
  readonly misses: readonly Miss[]
  close(): Promise<void>
}

/** An exchange that is not in the recording. */
export interface Miss {
  /** What asked: `agent.triage`. */
  readonly path: string
  readonly request: JsonObject
  /** The recorded request that is most like it. */
  readonly nearest: JsonObject | null
}

/** A workflow under test, and what the judges of its test file need. */
export interface Tested {
  /** The files that its tests name, by their paths as they are written. */
  readonly fixtures: ReadonlyMap<string, Fixture>
  readonly source: string
  readonly plan: Plan
  readonly secrets: JsonObject
  readonly judges: Plan
  readonly judgeSecrets: JsonObject
}

export interface Given {
  /** Given values of agents and questions, by `agent.x`. */
  readonly steps: ReadonlyMap<string, GivenValue>
  readonly others: ReadonlyMap<string, GivenValue>
  /** What `run` is. */
  readonly run: RunValues
  /** The files that its values name. */
  readonly fixtures: readonly Fixture[]
}

/** The same in each run of a test, whenever it runs, so that recordings fit. */
export const defaultRun: RunValues = { id: "test", started_at: Date.UTC(2026, 0, 1) }

export const nothingGiven: Given = { steps: new Map(), others: new Map(), run: defaultRun, fixtures: [] }

const testOptions: RunOptions = {
  cache_key: null,
  use_cache: false,
  max_concurrency: null,
  timeout_ms: null,
  deltas: false,
}

/** What came of a test's run, and what its files say. */
export interface ObservedTest extends ObservedRun {
  readonly misses: readonly Miss[]
  readonly shortages: readonly Shortage[]
  readonly texts: FileTexts
}

/** A run on the real engine, to its end. Rejects with a `FileRefusal` where a file of the test cannot be stored. */
export async function runOnce(
  engine: TestEngine,
  { source }: Pick<Tested, "source">,
  plan: Plan,
  input: JsonObject,
  secrets: JsonObject,
  given: Given,
  signal: AbortSignal,
): Promise<ObservedTest> {
  const { clock, random, limits, deadlines } = engine
  const opened = engine.open(secrets)
  const { store, model, events, misses, code, files } = opened
  const answered: GivenAnswer[] = []
  const results = new GivenResults()
  const created_at = clock.now()
  const request = { source, input: inputOf(plan, input), secrets, options: testOptions }
  const newRun = { run_id: random.id(), caller: "", request, created_at, idempotency: null }
  const created = await store.create(newRun, "test", 3_600_000)
  if (created.outcome !== "created") throw new Error(`A test's run was not created: ${created.outcome}`)
  if (files !== undefined) await storeFixtures(files.files, newRun.run_id, given.fixtures)
  /** Ports of a file, by the path of calls that leads to it: `workflow.triage.` */
  const portsOf = (path: string, file: Plan): RunPorts => {
    const others = below(path, given.others)
    const calls = new Map<string, GivenOne>()
    return {
      clock,
      random,
      store,
      model,
      tools: new GivenTools(opened.tools, file, others, new Set(below(path, given.steps).keys()), calls),
      ...(code !== undefined && { code }),
      ...(files !== undefined && { files }),
      given: (id, iteration, call) => {
        const step = `${path}${id}`
        const value = given.steps.get(step) ?? given.others.get(step)
        if (value === undefined) return undefined
        // A called file may be called several times: then only the order in which calls begin is known.
        const position = call === undefined ? iteration : path === "" ? positionOf(file, id, call) : null
        const one = results.take(step, value, position)
        // Tools answer at their port: here it is only said that they are given.
        if (call !== undefined && others.has(id)) {
          calls.set(call.call_id, one)
          return { output: {} }
        }
        const result = stepResult(one, step)
        if ("output" in result && id.startsWith("ask.")) answered.push({ step, iteration, answer: result.output })
        return result
      },
      givenWait: (id, iteration) => {
        const step = `${path}${id}`
        const value = given.steps.get(step) ?? given.others.get(step)
        if (value === undefined) return undefined
        return waitResult(results.take(step, value, iteration), step)
      },
      within: (workflow) => {
        const called = file.workflows?.[workflow]
        if (called === undefined) throw new Error(`No file is called as ${workflow}`)
        return portsOf(`${path}workflow.${workflow}.`, called.plan)
      },
      run: given.run,
      bug: (error) => engine.bug(error),
    }
  }
  const leave = new LightSignal()
  const onAbort = (): void => leave.give()
  signal.addEventListener("abort", onAbort, { once: true })
  if (signal.aborted) leave.give()
  const job = {
    plan,
    request,
    caller: "",
    held: { lease: created.lease, leave, gate: openGate },
    created_at,
    resumed: null,
    deadlines,
  }
  try {
    await run(job, portsOf("", plan), limits)
    const observed = observeRun(events, plan, answered)
    const seen = [input, observed.output, ...observed.agents.values(), ...observed.rounds.values()]
    const texts = await textsOfFiles(files?.files, seen)
    return { ...observed, misses, shortages: results.shortages, texts }
  } finally {
    signal.removeEventListener("abort", onAbort)
    await opened.close()
  }
}

/** The results for the steps of a file, by their names in it. */
function below(path: string, given: ReadonlyMap<string, GivenValue>): ReadonlyMap<string, GivenValue> {
  return new Map([...given].flatMap(([id, value]) => (id.startsWith(path) ? [[id.slice(path.length), value]] : [])))
}
