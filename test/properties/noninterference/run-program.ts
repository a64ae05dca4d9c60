import { MemoryStore } from "../../../src/adapters/memory/memory-store.ts"
import { systemRandom } from "../../../src/adapters/system/system-random.ts"
import { LightSignal } from "../../../src/base/light-signal.ts"
import { isTerminal, type LogEvent } from "../../../src/log/events.ts"
import type { Plan } from "../../../src/plan/plan-shape.ts"
import { openGate } from "../../../src/ports/gate.ts"
import type { Lease } from "../../../src/ports/store.ts"
import { Deadlines } from "../../../src/run/budget/deadlines.ts"
import { defaultLimits } from "../../../src/run/context/run-context.ts"
import { run } from "../../../src/run/run.ts"
import type { Resumption } from "../../../src/run/run-job.ts"
import { allQuestions } from "../../support/all-questions.ts"
import { ManualClock } from "../../support/manual-clock.ts"
import { defaultOptions } from "../../support/run-plan.ts"
import type { Settled } from "./program.ts"
import { World, type Seen, type Variation } from "./world.ts"

export interface Ran {
  readonly seen: readonly Seen[]
  /** It went to its end: a run that fails has done a part of what it does otherwise. */
  readonly isWhole: boolean
  readonly end: LogEvent | undefined
}

/** Runs a program on the real engine, in a world of its own, with people who answer. */
export async function runProgram(settled: Settled, plan: Plan, variation: Variation): Promise<Ran> {
  const world = new World(settled, variation)
  const clock = new ManualClock()
  const store = new MemoryStore(clock)
  const bugs: unknown[] = []
  const deadlines = new Deadlines(clock)
  const run_id = "run"
  const request = {
    source: "",
    input: world.input(),
    secrets: { key: "a-key-of-sixteen-letters", hook: "a-hook-of-sixteen-letters" },
    options: { ...defaultOptions, use_cache: false },
  }
  const created_at = clock.now()
  const created = await store.create({ run_id, caller: "", request, created_at, idempotency: null }, "test", 60_000)
  if (created.outcome !== "created") throw new Error(`The run was not created: ${created.outcome}`)
  const ports = {
    store,
    model: world,
    tools: world,
    clock,
    random: systemRandom,
    bug: (error: unknown) => bugs.push(error),
  }
  let lease: Lease = created.lease
  let resumed: Resumption | null = null
  const answered = new Set<string>()
  let end: LogEvent | undefined
  try {
    for (let round = 0; round < 50; round++) {
      const job = {
        plan,
        request,
        caller: "",
        created_at,
        held: { lease, leave: new LightSignal(), gate: openGate },
        resumed,
        deadlines,
      }
      end = (await run(job, ports, defaultLimits)) ?? undefined
      if (bugs.length > 0) throw bugs[0]
      if (end !== undefined && isTerminal(end.type)) break
      for (const question of await allQuestions(store, run_id)) {
        if (question.status !== "open" || answered.has(question.id)) continue
        answered.add(question.id)
        const answer = world.answer(question)
        const given = { answer: answer ?? null, answered_by: { caller: null, by: "ann" } }
        if (answer !== undefined) await store.questions.answer(run_id, question.id, given)
      }
      if ((await store.waits.outcomes(run_id)).length === 0) {
        clock.advance(71_000)
        await store.waits.settleDue()
      }
      const [claimed] = await store.claim("test", 1, 60_000)
      if (claimed === undefined) throw new Error("The run waits for nobody")
      lease = claimed
      resumed = { reason: "answered", given_back: claimed.given_back, woken: claimed.woken }
    }
  } finally {
    deadlines.close()
  }
  return {
    seen: [...world.seen, ...(await workflowCalls(store, run_id))],
    isWhole: end?.type === "workflow_completed",
    end,
  }
}

/** What files were called with. */
async function workflowCalls(store: MemoryStore, run_id: string): Promise<Seen[]> {
  const seen: Seen[] = []
  for (let from = 0; ;) {
    const page = await store.read(run_id, from, 1000)
    if (page.length === 0) return seen
    from += page.length
    for (const { type, data } of page) {
      if (type === "workflow_call_started") seen.push({ who: `workflow ${data.workflow}`, what: data.input })
    }
  }
}
