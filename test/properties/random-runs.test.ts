import assert from "node:assert/strict"
import { test } from "node:test"
import { fc } from "../support/fast-check.ts"
import { cases } from "../support/strength.ts"
import { MemoryStore } from "../../src/adapters/memory/memory-store.ts"
import { systemClock } from "../../src/adapters/system/system-clock.ts"
import type { Expression } from "../../src/plan/expression.ts"
import type { Plan, PlanNode } from "../../src/plan/plan-shape.ts"
import type { LogEvent } from "../../src/log/events.ts"
import { isTerminal } from "../../src/log/events.ts"
import type { Lease } from "../../src/ports/store.ts"
import type { ModelTurn } from "../../src/ports/model.ts"
import { LeaseLost } from "../../src/ports/store.ts"
import { reduce } from "../../src/log/reduce.ts"
import { initialState } from "../../src/log/run-state.ts"
import { agent, call, dynamic, entries, loopOver, output, plan, ref, text, tool, use } from "../support/build-plan.ts"
import { record, string } from "../support/build-types.ts"
import { InProcessTools } from "../support/in-process-tools.ts"
import type { Outcome } from "../support/run-plan.ts"
import { runPlan } from "../support/run-plan.ts"
import { answers, callsTools, lastText, says, ScriptedModel } from "../support/scripted-model.ts"

// Random graphs of agents, loops and values, run whole, killed at random and gone on with, and cancelled at random.

interface Shape {
  readonly kind: "agent" | "loop" | "value" | "call"
  /** Which of the earlier nodes it refers to. */
  readonly on: readonly number[]
  readonly uses: boolean
  readonly local: boolean
  readonly context: "none" | "whole" | "compact"
}

const shapes = fc.array(
  fc.record({
    kind: fc.constantFrom<Shape["kind"]>("agent", "agent", "loop", "value", "call"),
    on: fc.array(fc.nat(7), { maxLength: 3 }),
    uses: fc.boolean(),
    local: fc.boolean(),
    context: fc.constantFrom<Shape["context"]>("none", "none", "whole", "compact"),
  }),
  { minLength: 1, maxLength: 7 },
)

function planOf(list: readonly Shape[]): Plan {
  const nodes: PlanNode[] = []
  for (const [index, shape] of list.entries()) {
    const earlier = shape.on.map((at) => nodes[at % Math.max(1, index)]).filter((node) => node !== undefined)
    const words = text(`n${index}: `, ...earlier.map((node): Expression => ref(node.id)))
    const name = `n${index}`
    if (shape.kind === "value") nodes.push(dynamic(name, words))
    else if (shape.kind === "call") nodes.push(dynamic(name, call("note", { text: words }, { site: name })))
    else {
      const single = nodes.filter((node) => node.kind === "agent" && node.loop === null)
      const source = single[shape.on[0] === undefined ? 0 : shape.on[0] % Math.max(1, single.length)]
      const local = call("note", { text: text(`${name} local`) }, { site: `${name}.local` })
      nodes.push(
        agent(name, {
          ...(shape.kind === "loop" ? { loop: loopOver(ref("input.items"), "item") } : {}),
          ...(shape.uses ? { uses: [use("tool", "note")] } : {}),
          ...(shape.local ? { locals: entries({ here: local }) } : {}),
          ...(shape.context === "none" || source === undefined
            ? {}
            : {
                context: {
                  agent: source.name,
                  compact:
                    shape.context === "whole" ? null : { models: [{ name: "m", inference: {} }], instruction: null },
                },
              }),
          instruction:
            shape.kind === "loop"
              ? text(ref("variable.item"), words)
              : shape.local
                ? text(words, ref("local.here"))
                : words,
        }),
      )
    }
  }
  const fields = Object.fromEntries(nodes.map((node) => [node.name, ref(node.id)]))
  return plan([...nodes, output(fields)], { tools: { note: tool({ remote: "note", idempotent: true }) } })
}

/** Every request has one answer, after some turns of the event loop that follow from it too. */
function model(): ScriptedModel {
  return new ScriptedModel(async (request): Promise<ModelTurn> => {
    const said = `${request.path}|${request.turn}|${JSON.stringify(request.input)}`
    let sum = 7
    for (let at = 0; at < said.length; at++) sum = (sum * 31 + said.charCodeAt(at)) % 65_521
    for (let turn = 0; turn < sum % 6; turn++) await new Promise((resolve) => setImmediate(resolve))
    if (request.contract === null) return says(`summary ${sum}`, request)
    const called = request.input.some((item) => item.role === "tool")
    if (request.tools.length > 0 && request.turn <= 1 + (sum % 2) && !(called && request.turn > 1)) {
      return callsTools([{ name: "note", arguments: { text: `${request.path} ${sum}` } }], request)
    }
    return answers({ message: `${lastText(request).length}-${sum}` }, request)
  })
}

function tools(): InProcessTools {
  return new InProcessTools({
    tools: {
      note: {
        input: record({ text: string }),
        call: async ({ text: said }) => {
          await new Promise((resolve) => setImmediate(resolve))
          return { text: `noted ${JSON.stringify(said).length}`, is_error: false }
        },
      },
    },
  })
}

/** Takes so many appends, then its process is as good as dead: nothing of it gets through any more. */
class Mortal extends MemoryStore {
  left = Number.POSITIVE_INFINITY
  override append(lease: Lease, events: readonly LogEvent[]): Promise<void> {
    if (this.left-- <= 0) return Promise.reject(new LeaseLost(lease.run_id))
    return super.append(lease, events)
  }
}

const input = { items: ["x", "y", "z"] }
const options = { max_concurrency: 3 }

function checkLog({ events, bugs }: Outcome): void {
  assert.deepEqual(bugs, [])
  assert.deepEqual(
    events.map(({ id }) => id),
    events.map((_, index) => index + 1),
  )
  assert.equal(events.filter(({ type }) => isTerminal(type)).length, 1)
  assert.ok(isTerminal(events.at(-1)?.type ?? "workflow_started"))
  const completed = events.flatMap(({ type, data }) =>
    type === "agent_completed" ? [`${data.agent}#${data.iteration}`] : [],
  )
  assert.equal(new Set(completed).size, completed.length)
  const ended = events.flatMap(({ type, data }) =>
    type === "tool_call_completed" || type === "tool_call_failed" ? [data.call_id] : [],
  )
  assert.equal(new Set(ended).size, ended.length)
  const state = events.reduce(reduce, initialState())
  assert.ok(state.spans.every(({ end }) => end !== null))
}

test("property: killed any number of times, a run comes to the same end", async () => {
  await fc.assert(
    fc.asyncProperty(shapes, fc.array(fc.integer({ min: 0, max: 6 }), { maxLength: 8 }), async (list, lives) => {
      const graph = planOf(list)
      const whole = await runPlan(graph, { model: model(), tools: tools(), input, options })
      checkLog(whole)
      assert.equal(whole.end?.type, "workflow_completed")

      const store = new Mortal(systemClock)
      let outcome: Outcome | null = null
      for (const [life, appends] of [...lives, Number.POSITIVE_INFINITY].entries()) {
        store.left = appends
        const resumed = life === 0 ? {} : { resumed: "restart" }
        const attempt = { model: model(), tools: tools(), input, options, store, run_id: "r", ...resumed }
        outcome = await runPlan(graph, attempt)
        if (outcome.end !== null) break
        await store.release({ run_id: "r", owner: "test", fence: 1 + life * 2 })
      }
      assert.ok(outcome !== null)
      checkLog(outcome)
      const last = outcome.events.at(-1)
      const expected = whole.events.at(-1)
      assert.ok(last?.type === "workflow_completed" && expected?.type === "workflow_completed")
      assert.deepEqual(last.data.output, expected.data.output)
      assert.deepEqual(last.data.usage, expected.data.usage)
    }),
    { numRuns: cases(60) },
  )
})

test("property: cancelled at any moment, a run ends with no call open", async () => {
  await fc.assert(
    fc.asyncProperty(shapes, fc.nat(40), async (list, turns) => {
      const store = new MemoryStore(systemClock)
      const asked = model()
      const noted = tools()
      const running = runPlan(planOf(list), { model: asked, tools: noted, input, options, store, run_id: "c" })
      for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve))
      await store.requestCancel("c")
      const outcome = await running
      checkLog(outcome)
      assert.ok(outcome.end?.type === "workflow_cancelled" || outcome.end?.type === "workflow_completed")
      assert.equal(asked.open, 0)
      assert.equal(noted.open_, 0)
    }),
    { numRuns: cases(60) },
  )
})
