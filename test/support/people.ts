import assert from "node:assert/strict"
import { MemoryStore } from "../../src/adapters/memory/memory-store.ts"
import { systemRandom } from "../../src/adapters/system/system-random.ts"
import { systemClock } from "../../src/adapters/system/system-clock.ts"
import type { JsonObject, JsonValue } from "../../src/base/json-value.ts"
import { compile } from "../../src/compile.ts"
import type { Plan } from "../../src/plan/plan-shape.ts"
import type { Clock } from "../../src/ports/clock.ts"
import type { ModelClient } from "../../src/ports/model.ts"
import type { RunOptions, RunStore } from "../../src/ports/store.ts"
import type { ToolHost } from "../../src/ports/tools.ts"
import { isTerminal, type LogEvent, type Question } from "../../src/log/events.ts"
import { defaultLimits } from "../../src/run/context/run-context.ts"
import { Runs, type RunsSettings } from "../../src/run/runs.ts"
import { allQuestions } from "./all-questions.ts"
import { InProcessTools } from "./in-process-tools.ts"
import { defaultOptions } from "./run-plan.ts"
import { answers, ScriptedModel } from "./scripted-model.ts"
import { within } from "./within.ts"

export interface Setting {
  readonly model?: ModelClient
  readonly tools?: ToolHost
  readonly store?: RunStore
  readonly clock?: Clock
  readonly settings?: Partial<RunsSettings>
}

export interface Asked {
  readonly input?: JsonObject
  readonly secrets?: JsonObject
  readonly options?: Partial<RunOptions>
  readonly caller?: string
}

/** A process that runs one workflow, with people who answer by way of its store. */
export class Desk {
  readonly runs: Runs
  readonly store: RunStore
  readonly bugs: unknown[] = []
  readonly #source: string
  readonly #plan: Plan

  constructor(source: string, { model, tools, store, clock = systemClock, settings = {} }: Setting = {}) {
    const { plan, diagnostics } = compile(source)
    if (plan === undefined) throw new Error(diagnostics.map(({ path, message }) => `${path}: ${message}`).join("\n"))
    this.#source = source
    this.#plan = plan
    this.store = store ?? new MemoryStore(clock)
    this.runs = new Runs(
      {
        store: this.store,
        model: model ?? new ScriptedModel((request) => answers({ message: "said" }, request)),
        tools: tools ?? new InProcessTools({}),
        clock,
        random: systemRandom,
        bug: (error) => this.bugs.push(error),
      },
      async () => ({ plan }),
      { owner: "desk", leaseMs: 10_000, maxRuns: 4, maxQueued: 10, limits: defaultLimits, ...settings },
    )
  }

  async open(): Promise<this> {
    await this.runs.recover()
    return this
  }

  async start({ input = {}, secrets = {}, options = {}, caller = "" }: Asked = {}): Promise<string> {
    const request = { source: this.#source, input, secrets, options: { ...defaultOptions, ...options } }
    const admitted = await this.runs.admit(this.#plan, { caller, request, idempotency: null })
    assert.ok(admitted.outcome === "created", JSON.stringify(admitted))
    return admitted.run_id
  }

  /** All events up to the first of that kind after `after`, or the end. */
  async until(run_id: string, type: LogEvent["type"], after = 0): Promise<LogEvent[]> {
    const stop = new AbortController()
    const read = async (): Promise<LogEvent[]> => {
      const events: LogEvent[] = []
      for await (const event of this.store.follow(run_id, 0, stop.signal)) {
        events.push(event)
        if ((event.type === type && event.id > after) || isTerminal(event.type)) return events
      }
      throw new Error("The log ended without an end")
    }
    try {
      return await within(30_000, `${type} of the run`, read())
    } finally {
      stop.abort()
    }
  }

  /** The open questions of a run that waits. */
  async waiting(run_id: string, after = 0): Promise<Question[]> {
    const events = await this.until(run_id, "run_waiting", after)
    assert.equal(events.at(-1)?.type, "run_waiting", JSON.stringify(events.at(-1)))
    return (await allQuestions(this.store, run_id)).filter(({ status }) => status === "open")
  }

  async answer(run_id: string, question: Question | undefined, answer: JsonValue): Promise<void> {
    assert.ok(question !== undefined, "there is no such question")
    const given = { answer, answered_by: { caller: null, by: "ann" } }
    assert.equal((await this.store.questions.answer(run_id, question.id, given))?.stored, true)
  }

  end(run_id: string): Promise<LogEvent[]> {
    return this.until(run_id, "workflow_completed")
  }

  async close(): Promise<void> {
    await this.runs.drain(0)
    assert.deepEqual(this.bugs, [])
  }
}
