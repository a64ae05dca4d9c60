import assert from "node:assert/strict"
import { test } from "node:test"
import { MemoryStore } from "../../adapters/memory/memory-store.ts"
import { systemClock } from "../../adapters/system/system-clock.ts"
import { compile } from "../../compile.ts"
import type { LogEvent } from "../../log/events.ts"
import type { Plan } from "../../plan/plan-shape.ts"
import { failure } from "../../ports/run-failure.ts"
import { defaultOptions, resultOf, runPlan } from "../../../test/support/run-plan.ts"
import { answers, ScriptedModel } from "../../../test/support/scripted-model.ts"

// One item of a loop goes ahead of the others, and fills the backend's cache.

const guide = "The same for every ticket. ".repeat(200)

function planOf(more = ""): Plan {
  const { plan, diagnostics } = compile(`
input { tickets: [string] }
provider p from anthropic { endpoint: "demo" }
model m from p { id: "m" }
agent label for ticket in input.tickets { model: model.m  instruction: "${guide}{{ ticket }}"  ${more}  output { message: string } }
output { labels: agent.label }
`)
  assert.ok(plan !== undefined, JSON.stringify(diagnostics))
  return plan
}

const tickets = Array.from({ length: 10 }, (_, at) => `ticket ${at}`)
const input = { tickets }

/** A model that answers the item that goes ahead once `mayAnswer` resolves, and all others at once. */
function waiting(mayAnswer: Promise<unknown>, fails = false): ScriptedModel {
  return new ScriptedModel(async (request) => {
    if (request.isAhead === true) await mayAnswer
    if (request.isAhead === true && fails) throw failure("provider_error", request.path, "no")
    return answers({ message: "done" }, request)
  })
}

const aheadOf = (model: ScriptedModel): number => model.requests.filter(({ isAhead }) => isAhead === true).length

test("one goes ahead, and the others wait until it has begun to be answered", async () => {
  const model: ScriptedModel = new ScriptedModel(async (request, watch) => {
    if (request.isAhead === true) {
      for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
      assert.equal(model.requests.length, 1)
      watch.began?.()
    }
    return answers({ message: "done" }, request)
  })
  const outcome = await runPlan(planOf(), { model, input })
  assert.equal(model.requests.length, 10)
  assert.equal(aheadOf(model), 1)
  assert.deepEqual(resultOf(outcome), { labels: tickets.map(() => ({ message: "done" })) })
})

test("one call at a time, and one that fails, keep nobody waiting", async () => {
  const one = waiting(Promise.resolve())
  await runPlan(planOf(), { model: one, input, options: { max_concurrency: 1 } })
  assert.equal(one.requests.length, 10)
  const failing = waiting(Promise.resolve(), true)
  const outcome = await runPlan(planOf("on_failure: skip"), { model: failing, input })
  assert.equal(failing.requests.length, 10)
  assert.match(JSON.stringify(resultOf(outcome)), /null/)
})

test("a run that fails elsewhere does not wait", async () => {
  const model = waiting(Promise.resolve(), true)
  const outcome = await runPlan(planOf(), { model, input })
  assert.equal(outcome.events.at(-1)?.type, "workflow_failed")
})

test("too few, those of a short prompt, and those without caches are all asked at once", async () => {
  const plans: [Plan, readonly string[]][] = [
    [planOf(), tickets.slice(0, 7)],
    [planOf("prompt_cache: none"), tickets],
  ]
  for (const [plan, some] of plans) {
    const model = waiting(Promise.resolve())
    await runPlan(plan, { model, input: { tickets: [...some] } })
    assert.equal(aheadOf(model), 0)
  }
})

/** Remembers each append as the engine made it. */
class Recording extends MemoryStore {
  readonly events: LogEvent[] = []
  override append(lease: Parameters<MemoryStore["append"]>[0], events: readonly LogEvent[]): Promise<void> {
    this.events.push(...events)
    return super.append(lease, events)
  }
}

test("after a crash nobody waits again for one that was answered", async () => {
  const recording = new Recording(systemClock)
  await runPlan(planOf(), { model: waiting(Promise.resolve()), input, store: recording })
  const { events } = recording
  const cuts = [
    { end: events.findIndex(({ type }) => type === "agent_loop_started"), ahead: 1 },
    { end: events.findIndex(({ type }) => type === "agent_completed"), ahead: 0 },
  ]
  for (const { end, ahead } of cuts) {
    const store = new MemoryStore(systemClock)
    const request = { source: "", input, secrets: {}, options: defaultOptions }
    const created = await store.create(
      { run_id: "r", caller: "", request, created_at: Date.now(), idempotency: null },
      "dead",
      60_000,
    )
    if (created.outcome !== "created") throw new Error(created.outcome)
    await store.append(created.lease, events.slice(0, end + 1))
    await store.release(created.lease)
    const model = waiting(Promise.resolve())
    const outcome = await runPlan(planOf(), { model, store, input, run_id: "r", resumed: "The process restarted" })
    assert.equal(outcome.events.at(-1)?.type, "workflow_completed")
    assert.equal(aheadOf(model), ahead)
    assert.equal(model.requests.length, ahead === 1 ? 10 : 9)
  }
})
