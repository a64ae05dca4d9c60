import { modelAdaptations, modelPauses } from "../base/limits.ts"
import { remembered } from "../base/remembered.ts"
import type { Expression } from "../plan/expression.ts"
import { children, traits } from "../plan/expression-traits.ts"
import { defaultRepairs, defaultRetries } from "../plan/inference-defaults.ts"
import type { AgentNode, Plan } from "../plan/plan-shape.ts"
import { expressionsOf, mergedInference } from "../plan/prepare.ts"

export type Bounded = "model_calls" | "tool_calls" | "tokens" | "cost"

/** The most that a run can use, with the limit that bounds it. */
export type Bound =
  | { readonly most: number; readonly by: string }
  | { readonly most: "unbounded"; readonly because: string }

type Bounds = Readonly<Record<Bounded, Bound>>

/** A call that a step makes itself. */
interface OwnCall {
  readonly step: string
  readonly callee: string
  /** The file that is called; undefined for a tool or a resource. */
  readonly workflow?: string
  readonly times: number
  readonly isRepeated: boolean
  /** The most that the call, or what it calls, may be called. */
  readonly max_calls: number | null
}

/** `known`: those of called files, which may be called in many places. */
export function maxOf(plan: Plan, known = new Map<Plan, Bounds>()): Bounds {
  return remembered(known, plan, () => {
    const agents = plan.nodes.filter((node) => node.kind === "agent")
    const calls = callsIn(plan)
    const most = (key: Bounded): Bound => {
      // The run's own limit, else what follows from the steps.
      const own = plan.limits?.[key]
      if (own !== undefined) return { most: own, by: `limits.${key}` }
      const file = (name: string): Bound => ofFile(plan, name, key, known)
      return sumOf([
        ...agents.flatMap((agent) => ofAgent(plan, agent, key, file)),
        ...calls.map((call) => ofCall(call, key, file)),
      ])
    }
    return {
      model_calls: most("model_calls"),
      tool_calls: most("tool_calls"),
      tokens: most("tokens"),
      cost: most("cost"),
    }
  })
}

const nothing: Bound = { most: 0, by: "no steps" }

// --------------------------------------------------------------------------------------------------------------- agents

/** What the model of an agent may use, and the files that it calls. */
function ofAgent(plan: Plan, agent: AgentNode, key: Bounded, file: (name: string) => Bound): Bound[] {
  // It governs what happens in those files, too.
  const own = agent.limits?.[key]
  if (own !== undefined) return [{ most: own, by: `${agent.id}.limits` }]
  const files = (agent.workflows ?? []).map(({ workflow, max_calls }) => {
    const used = `workflow.${workflow}`
    const because = max_calls === null ? `${agent.id} may use ${used} without \`max_calls\`` : loopsOver(agent.id, used)
    const most = agent.loop === null && max_calls !== null ? max_calls * roundsOf(agent) : null
    return times(file(workflow), most, () => because)
  })
  if (key === "model_calls") return [modelCalls(plan, agent), ...files]
  if (key === "tool_calls") return [...toolCalls(plan, agent), ...files]
  return [{ most: "unbounded", because: `neither the run nor ${agent.id} has \`limits { ${key}: … }\`` }]
}

function modelCalls(plan: Plan, agent: AgentNode): Bound {
  if (agent.loop !== null) {
    return { most: "unbounded", because: `${agent.id} loops, and no \`limits { model_calls: … }\` bounds it` }
  }
  const hasTools = agent.uses.length > 0 || agent.workflows !== undefined
  // After the tools, one turn may be for the output alone. Each model of the list that fails spends a turn.
  const others = agent.choice === undefined ? agent.models.length - 1 : 0
  const turns = (hasTools ? agent.max_steps + 1 : 1) + others
  const pauses = isHosted(plan, agent) ? 2 + modelPauses : 0
  const most = turns * maxRequests(plan, agent.models, hasTools ? Math.max(2, pauses) : pauses)
  const compact = agent.context?.compact?.models ?? []
  const each = most + compact.length * maxRequests(plan, compact, 0)
  return { most: each * roundsOf(agent), by: "steps, models and retries" }
}

function roundsOf({ repeat }: AgentNode): number {
  return repeat?.at_most ?? 1
}

/**
 * The requests of one turn with any of these models. Each answer may be sent back; `more` answers may be asked for without tools, or
 * without a stream. Each of them may be tried again, and the turn may do without what its backend refuses.
 */
function maxRequests(plan: Plan, models: readonly AgentNode["models"][number][], more: number): number {
  const each = models.map(({ name, inference }) => {
    const { max_retries = defaultRetries, output_retries = defaultRepairs } = mergedInference(plan, name, inference)
    return (1 + output_retries + more) * (1 + max_retries) + modelAdaptations
  })
  return Math.max(0, ...each)
}

/** What the model of an agent may call. That of a use counts for each item, that of an import for all of them. */
function toolCalls(plan: Plan, agent: AgentNode): Bound[] {
  const { id, uses, loop } = agent
  const because = `the provider decides how often ${id} uses its hosted tools, and no \`limits { tool_calls: … }\` bounds it`
  const hosted: Bound[] = isHosted(plan, agent) ? [{ most: "unbounded", because }] : []
  const own = uses.flatMap(({ kind, name, max_calls }) => {
    if (kind === "prompt") return []
    const ofImport = kind === "tool" ? (plan.tools[name]?.max_calls ?? null) : null
    const most = least(loop === null && max_calls !== null ? max_calls * roundsOf(agent) : null, ofImport)
    const because =
      max_calls === null ? `${id} may use ${kind}.${name} without \`max_calls\`` : loopsOver(id, `${kind}.${name}`)
    return times({ most: 1, by: "max_calls" }, most, () => because)
  })
  return [...own, ...hosted]
}

function isHosted({ models }: Plan, agent: AgentNode): boolean {
  return agent.hosted_tools !== undefined || agent.models.some(({ name }) => models[name]?.hosted_tools !== undefined)
}

function loopsOver(id: string, used: string): string {
  return `${id} loops, and \`max_calls\` of ${used} counts for each item`
}

function least(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.min(a, b)
}

// ---------------------------------------------------------------------------------------------------------------- calls

function callsIn(plan: Plan): OwnCall[] {
  const calls: OwnCall[] = []
  const look = (expression: Expression, step: string, isRepeated: boolean, rounds: number): void => {
    if (traits(expression).pure) return
    const { op } = expression
    if (op === "call") {
      const max_calls = least(expression.max_calls, plan.tools[expression.tool]?.max_calls ?? null)
      calls.push({ step, callee: `tool.${expression.tool}`, times: rounds, isRepeated, max_calls })
    }
    if (op === "read")
      calls.push({ step, callee: `resource.${expression.resource}`, times: rounds, isRepeated, max_calls: null })
    if (op === "call-workflow") {
      const { workflow, repeat } = expression
      calls.push({
        step,
        callee: `workflow.${workflow}`,
        workflow,
        times: rounds * (repeat?.at_most ?? 1),
        isRepeated,
        max_calls: null,
      })
    }
    for (const part of children(expression)) {
      look(part, step, isRepeated || (op === "list" && part === expression.value), rounds)
    }
  }
  for (const node of plan.nodes) {
    const loop = "loop" in node ? node.loop : null
    const rounds = node.kind === "agent" ? roundsOf(node) : 1
    for (const one of expressionsOf(node)) look(one, node.id, loop !== null && one !== loop.items, rounds)
  }
  return calls
}

function ofCall(call: OwnCall, key: Bounded, file: (name: string) => Bound): Bound {
  // A call of a file is no call of a tool, and neither uses a model.
  const tool: Bound = key === "tool_calls" ? { most: 1, by: "the steps" } : nothing
  const one = call.workflow === undefined ? tool : file(call.workflow)
  return times(one, call.isRepeated ? call.max_calls : call.times, () => {
    return `${call.step} calls ${call.callee} for each item of a list`
  })
}

/** What one call of a file can use. */
function ofFile(plan: Plan, name: string, key: Bounded, known: Map<Plan, Bounds>): Bound {
  const called = plan.workflows?.[name]
  if (called === undefined) return nothing
  const inside = maxOf(called.plan, known)[key]
  return inside.most === "unbounded"
    ? { most: "unbounded", because: `in ${called.file}, ${inside.because}` }
    : { most: inside.most, by: `${called.file}: ${inside.by}` }
}

// ----------------------------------------------------------------------------------------------------------------- sums

/** Null: nobody knows how often. */
function times(one: Bound, count: number | null, because: () => string): Bound {
  if (one.most === "unbounded" || one.most === 0) return one
  if (count === null) return { most: "unbounded", because: because() }
  return { most: exact(one.most * count), by: one.by }
}

function sumOf(bounds: readonly Bound[]): Bound {
  let sum = 0
  const reasons = new Set<string>()
  for (const one of bounds) {
    if (one.most === "unbounded") return one
    sum += one.most
    if (one.most > 0) reasons.add(one.by)
  }
  const [first = "the steps", ...others] = reasons
  return { most: exact(sum), by: others.length === 0 ? first : "the steps" }
}

/** 0.3 for three times 0.1. */
function exact(value: number): number {
  return Number(value.toPrecision(12))
}
