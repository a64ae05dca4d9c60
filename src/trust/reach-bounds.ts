import { defaultRepairs, defaultRetries } from "../plan/inference-defaults.ts"
import type { AgentNode, Plan } from "../plan/plan-shape.ts"
import { mergedInference } from "../plan/prepare.ts"

export type Bounded = "model_calls" | "tool_calls" | "tokens" | "cost"

/** The most that a run can use, with the limit that bounds it. */
export type Bound =
  | { readonly most: number; readonly by: string }
  | { readonly most: "unbounded"; readonly because: string }

/** A call that a step makes itself. */
interface OwnCall {
  readonly step: string
  readonly callee: string
  readonly isRepeated: boolean
}

export function mostOf(plan: Plan, calls: readonly OwnCall[]): Readonly<Record<Bounded, Bound>> {
  const agents = plan.nodes.filter((node) => node.kind === "agent")
  // The run's own limit, else what follows from the steps.
  const bound = (key: Bounded, computed: () => Bound): Bound => {
    const own = plan.limits?.[key]
    if (own !== undefined) return { most: own, by: `limits.${key}` }
    const [called] = Object.values(plan.workflows ?? {})
    if (called === undefined) return computed()
    return { most: "unbounded", because: `it calls ${called.file}, and no \`limits { ${key}: … }\` bounds the run` }
  }
  return {
    model_calls: bound("model_calls", () => sumOf(agents, (agent) => modelCalls(plan, agent))),
    tool_calls: bound("tool_calls", () => toolCalls(plan, agents, calls)),
    tokens: bound("tokens", () => unlimited("tokens", agents)),
    cost: bound("cost", () => unlimited("cost", agents)),
  }
}

function modelCalls(plan: Plan, agent: AgentNode): Bound {
  const own = agent.limits?.model_calls
  if (own !== undefined) return { most: own, by: `${agent.id}.limits` }
  if (agent.loop !== null) {
    return { most: "unbounded", because: `${agent.id} loops, and no \`limits { model_calls: … }\` bounds it` }
  }
  const models = agent.models.length + (agent.context?.compact?.models.length ?? 0)
  const turns = agent.uses.length === 0 ? 1 : agent.max_steps
  // A list of models is tried in order; each call may be tried again, and each answer may be sent back.
  const settings = agent.models.map(({ name, inference }) => mergedInference(plan, name, inference))
  const retries = Math.max(...settings.map(({ max_retries = defaultRetries }) => max_retries))
  const repairs = Math.max(...settings.map(({ output_retries = defaultRepairs }) => output_retries))
  return { most: (turns + repairs) * (1 + retries) * models, by: "steps, models and retries" }
}

function toolCalls(plan: Plan, agents: readonly AgentNode[], calls: readonly OwnCall[]): Bound {
  const ofAgents = sumOf(agents, (agent) => callsOfModel(plan, agent))
  if (ofAgents.most === "unbounded") return ofAgents
  const repeated = calls.find(({ isRepeated }) => isRepeated)
  if (repeated === undefined) return { most: ofAgents.most + calls.length, by: "the steps" }
  return { most: "unbounded", because: `${repeated.step} calls ${repeated.callee} for each item of a list` }
}

/** What the model of an agent may call, over all of its items. */
function callsOfModel(plan: Plan, agent: AgentNode): Bound {
  const callable = agent.uses.filter(({ kind }) => kind !== "prompt")
  if (callable.length === 0) return { most: 0, by: "no tools" }
  const own = agent.limits?.tool_calls
  if (own !== undefined) return { most: own, by: `${agent.id}.limits` }
  let sum = 0
  for (const { kind, name, max_calls } of callable) {
    const most = max_calls ?? (kind === "tool" ? (plan.tools[name]?.max_calls ?? null) : null)
    if (most === null) {
      return { most: "unbounded", because: `${agent.id} may use ${kind}.${name} without \`max_calls\`` }
    }
    sum += most
  }
  return { most: sum, by: "max_calls" }
}

function sumOf(agents: readonly AgentNode[], boundOf: (agent: AgentNode) => Bound): Bound {
  let sum = 0
  const reasons = new Set<string>()
  for (const agent of agents) {
    const one = boundOf(agent)
    if (one.most === "unbounded") return one
    sum += one.most
    if (one.most > 0) reasons.add(one.by)
  }
  const [first = "no agents", ...others] = reasons
  return { most: sum, by: others.length === 0 ? first : "the limits of the agents" }
}

function unlimited(key: "tokens" | "cost", agents: readonly AgentNode[]): Bound {
  return sumOf(agents, ({ id, limits }) => {
    const own = limits?.[key]
    return own === undefined
      ? { most: "unbounded", because: `neither the run nor ${id} has \`limits { ${key}: … }\`` }
      : { most: own, by: `${id}.limits` }
  })
}
