import type { JsonObject } from "../base/json-value.ts"
import type { Entry, Expression } from "./expression.ts"
import type {
  AgentNode,
  AwaitedPlan,
  Inference,
  MediaKind,
  Plan,
  PlanNode,
  PlannedNode,
  PromptCacheWord,
  ResponseFormat,
} from "./plan-shape.ts"
import { holdsFile } from "../types/holds-file.ts"
import { approvalParts, children, traits } from "./expression-traits.ts"

/** What every run of a plan needs to know of it, found out once. */
export interface Prepared {
  readonly planned: readonly PlannedNode[]
  /** By position of a node: the positions of those that wait for it, and how many it waits for itself. */
  readonly dependents: readonly (readonly number[])[]
  readonly waitsFor: readonly number[]
  /** Providers that a model has. */
  readonly providers: readonly string[]
  /** Providers that a secret is sent to, or decides about. */
  readonly secretProviders: ReadonlySet<string>
  /** Agents whose message history another one continues. */
  readonly continued: ReadonlySet<string>
  /** Every `call` of a tool, `read` and `render`. */
  readonly effects: readonly Effect[]
  /** No expression calls, reads or renders anything. */
  readonly isPure: boolean
  /** An expression refers to `run`. */
  readonly showsRun: boolean
  /** An expression asks why a step failed. */
  readonly showsFailures: boolean
  /** An agent that chooses its model, with the one that it has chosen. */
  readonly chosen: (agent: AgentNode, model: string) => AgentNode
  /** How each of an agent's models is called, in the order of the models. */
  readonly calls: ReadonlyMap<AgentNode, readonly CallSettings[]>
}

export type Effect = Extract<Expression, { op: "call" | "read" | "render" }>

/** How a model is called by an agent. */
export interface CallSettings {
  readonly model: string
  /** The model's own, for agents that have none. */
  readonly system: Expression | null
  readonly inference: Inference
  readonly response_format: ResponseFormat
  /** Null: neither the agent nor the model states one. */
  readonly prompt_cache: PromptCacheWord | null
  /** The model's, then the agent's. Absent where there are none. */
  readonly hosted_tools?: readonly JsonObject[]
  /** Absent where the output has no files. */
  readonly outputs?: readonly MediaKind[]
}

// Plans are kept by their source and run again and again.
const prepared = new WeakMap<Plan, Prepared>()

export function prepare(plan: Plan): Prepared {
  const before = prepared.get(plan)
  if (before !== undefined) return before
  const found = prepareAfresh(plan)
  prepared.set(plan, found)
  return found
}

/** The same in steps, for a plan so large that it takes its time: `prepare` then knows it. */
export function* prepareInTurns(plan: Plan): Generator<void, Prepared, undefined> {
  const found = yield* steps(plan)
  prepared.set(plan, found)
  return found
}

function prepareAfresh(plan: Plan): Prepared {
  const work = steps(plan)
  for (;;) {
    const step = work.next()
    if (step.done === true) return step.value
  }
}

/** Nodes and expressions that are looked at in one step. */
const perStep = 1000

function* steps(plan: Plan): Generator<void, Prepared, undefined> {
  const { nodes } = plan
  const positions = new Map(nodes.map((node, position) => [node.id, position]))
  const dependents: number[][] = nodes.map(() => [])
  const waitsFor: number[] = []
  const effects: Effect[] = []
  const outside = [
    ...Object.values(plan.models).map(({ system }) => system),
    ...Object.values(plan.prompts).flatMap(({ bindings }) => values(bindings)),
  ]
  let isPure = outside.every((expression) => expression === null || traits(expression).pure)
  let showsRun = false
  let showsFailures = false
  const planned: PlannedNode[] = []
  let looked = 0
  for (const [position, node] of nodes.entries()) {
    const needed = new Set(node.depends_on)
    for (const id of needed) {
      const on = positions.get(id)
      if (on === undefined) throw new Error(`${node.id} depends on ${id}, which is not in the plan`)
      dependents[on]?.push(position)
    }
    waitsFor.push(needed.size)
    planned.push(plannedNode(node))
    if (++looked % perStep === 0) yield
    // One output may have as many expressions as a workflow has nodes.
    for (const expression of expressionsOf(node)) {
      addEffects(expression, effects)
      const { pure, run, failures, code } = traits(expression)
      isPure &&= pure
      // Code sees the run's start.
      showsRun ||= run || code > 0
      showsFailures ||= failures
      if (++looked % perStep === 0) yield
    }
  }
  const agents = nodes.filter((node) => node.kind === "agent")
  const of = new Map(agents.map((agent) => [agent, choicesOf(agent)]))
  const providers = [...new Set(Object.values(plan.models).map(({ provider }) => provider))]
  return {
    planned,
    dependents,
    waitsFor,
    providers,
    secretProviders: new Set(providers.filter((name) => usesSecrets(plan, name))),
    continued: new Set(agents.flatMap(({ context }) => (context === null ? [] : [context.agent]))),
    effects,
    isPure,
    showsRun,
    showsFailures,
    calls: new Map(
      [...agents, ...[...of.values()].flatMap((one) => [...one.values()])].map((agent) => [
        agent,
        callSettings(plan, agent),
      ]),
    ),
    chosen: (agent, model) => {
      const node = of.get(agent)?.get(model)
      if (node === undefined) throw new Error(`${agent.id} has no model.${model}`)
      return node
    },
  }
}

function plannedNode(node: PlanNode): PlannedNode {
  const { id, kind, name, depends_on } = node
  const rounds = node.kind === "agent" && node.repeat !== undefined ? { at_most: node.repeat.at_most } : {}
  const event = node.kind === "wait" && node.awaits.kind === "event" ? { event: node.awaits.event } : {}
  const planned = { id, kind, name, depends_on, ...rounds, ...event }
  return (node.kind === "agent" || node.kind === "ask" || node.kind === "wait") && node.when !== null
    ? { ...planned, when: node.when.text }
    : planned
}

function usesSecrets({ providers }: Plan, name: string): boolean {
  const provider = providers[name]
  if (provider === undefined) return false
  const { endpoint, api_key, headers } = provider
  return [endpoint, api_key, ...headers.map((header) => header.value)].some(
    (expression) => expression !== null && traits(expression).secrets,
  )
}

/** By the name of each model that an agent may choose: the agent with that one alone. */
function choicesOf(agent: AgentNode): Map<string, AgentNode> {
  if (agent.choice === undefined) return new Map()
  return new Map(
    agent.models.map((model) => {
      const compact = agent.context?.compact
      const own = { name: model.name, inference: {} }
      const context =
        agent.context !== null && compact?.own === true
          ? { ...agent.context, compact: { ...compact, models: [own] as const } }
          : agent.context
      return [model.name, { ...agent, models: [model], context }]
    }),
  )
}

function callSettings(plan: Plan, agent: AgentNode): CallSettings[] {
  return agent.models.map(({ name, inference }) => ({
    ...hostedTools(plan.models[name]?.hosted_tools, agent.hosted_tools),
    ...mediaOf(plan, name, agent),
    model: name,
    system: plan.models[name]?.system ?? null,
    inference: mergedInference(plan, name, inference),
    response_format: agent.response_format ?? plan.models[name]?.response_format ?? "auto",
    prompt_cache: agent.prompt_cache ?? plan.models[name]?.prompt_cache ?? null,
  }))
}

/** What a model makes for an agent whose output has files. */
function mediaOf(plan: Plan, name: string, { output }: AgentNode): Pick<CallSettings, "outputs"> {
  const outputs = plan.models[name]?.outputs
  return outputs !== undefined && holdsFile(output, plan.types) ? { outputs } : {}
}

function hostedTools(
  ofModel: readonly JsonObject[] = [],
  ofAgent: readonly JsonObject[] = [],
): Pick<CallSettings, "hosted_tools"> {
  const all = [...ofModel, ...ofAgent]
  return all.length === 0 ? {} : { hosted_tools: all }
}

/** Provider, then model, then the agent's own: the later wins key by key, inside `extra` too. */
export function mergedInference(plan: Plan, modelName: string, own: Inference): Inference {
  const model = plan.models[modelName]
  const provider = model === undefined ? undefined : plan.providers[model.provider]
  const layers = [provider?.inference, model?.inference, own].filter((layer) => layer !== undefined)
  const extra: JsonObject = Object.assign({}, ...layers.map((layer) => layer.extra))
  const merged: Inference = Object.assign({}, ...layers)
  return Object.keys(extra).length === 0 ? merged : { ...merged, extra }
}

export function effectsOf(node: PlanNode): Effect[] {
  const found: Effect[] = []
  for (const expression of expressionsOf(node)) addEffects(expression, found)
  return found
}

function addEffects(expression: Expression, found: Effect[]): void {
  if (traits(expression).pure) return
  if (expression.op === "call" || expression.op === "read" || expression.op === "render") found.push(expression)
  for (const child of children(expression)) addEffects(child, found)
}

export function expressionsOf(node: PlanNode): Expression[] {
  switch (node.kind) {
    case "dynamic":
      return [node.value]
    case "output":
      return values(node.fields)
    case "ask":
      return [
        node.loop?.items ?? null,
        node.when?.condition ?? null,
        node.question,
        node.show,
        node.prefill,
        node.to,
        node.expires_seconds,
        node.on_expiry,
        ...requiresOf(node),
      ].filter((expression) => expression !== null)
    case "wait":
      return [node.loop?.items ?? null, node.when?.condition ?? null, ...awaitedParts(node.awaits)].filter(
        (expression) => expression !== null,
      )
    case "agent":
      return [
        ...(node.loop === null ? [] : [node.loop.items]),
        node.when?.condition ?? null,
        ...values(node.locals),
        node.choice ?? null,
        node.messages ?? null,
        node.instruction,
        node.system,
        node.repeat?.until ?? null,
        ...node.files.flatMap((file) => [file.name, file.content, file.media_type]),
        ...(node.workflows ?? []).flatMap((use) => [...values(use.bindings), ...approvalParts(use.approval)]),
        ...node.uses.flatMap((use) => [...values(use.bindings), ...approvalParts(use.approval)]),
        node.context?.compact?.instruction ?? null,
        ...requiresOf(node),
      ].filter((expression) => expression !== null)
  }
}

function awaitedParts(awaits: AwaitedPlan): (Expression | null)[] {
  if (awaits.kind === "event") return [awaits.key, awaits.expires_seconds, awaits.on_expiry]
  return [awaits.kind === "seconds" ? awaits.seconds : awaits.until]
}

function requiresOf({ requires }: Pick<AgentNode, "requires">): (Expression | null)[] {
  return requires.flatMap(({ captures, condition, message }) => [...captures, condition, message])
}

function values(entries: readonly Entry[]): Expression[] {
  return entries.map((entry) => entry.value)
}
