import type { Limits, Plan } from "../../plan/plan-shape.ts"
import { limitKeys } from "../../syntax/property-table.ts"
import type { LimitKey, ShownLimits, ShownRunLimits } from "../../log/events.ts"

/**
 * A limit, and the place that set it: `limits.tokens`, `options.limits.tokens`, `agent.x.limits.tokens`. That of a called workflow begins
 * with the scope of the call: `triage@dynamic.first/limits.tokens`.
 */
export interface Limit {
  readonly most: number
  readonly path: string
}

export type LimitSet = { readonly [Key in LimitKey]?: Limit }

/** All limits of a run. */
export interface RunLimitSet {
  readonly run: LimitSet
  readonly agents: ReadonlyMap<string, LimitSet>
}

const noLimits: RunLimitSet = { run: {}, agents: new Map() }

/** Most plans have none. */
function setsLimits({ limits, nodes }: Plan): boolean {
  return limits !== null || nodes.some((node) => node.kind === "agent" && node.limits !== null)
}

/** The limits of the workflow and of the request: of each key the smallest counts. `scope`: of a workflow that is called. */
export function limitsOfRun(plan: Plan, options: Limits | null, scope: string | null = null): RunLimitSet {
  if (options === null && !setsLimits(plan)) return noLimits
  const before = scope === null ? "" : `${scope}/`
  const run: { [Key in LimitKey]?: Limit } = {}
  for (const key of limitKeys) {
    const own = plan.limits?.[key]
    const asked = options?.[key]
    if (own !== undefined && (asked === undefined || own <= asked))
      run[key] = { most: own, path: `${before}limits.${key}` }
    else if (asked !== undefined) run[key] = { most: asked, path: `options.limits.${key}` }
  }
  const agents = new Map<string, LimitSet>()
  for (const node of plan.nodes) {
    if (node.kind !== "agent" || node.limits === null) continue
    const set: { [Key in LimitKey]?: Limit } = {}
    for (const key of limitKeys) {
      const most = node.limits[key]
      if (most !== undefined) set[key] = { most, path: `${before}agent.${node.name}.limits.${key}` }
    }
    agents.set(node.name, set)
  }
  return { run, agents }
}

export function hasLimits({ run, agents }: RunLimitSet): boolean {
  return agents.size > 0 || Object.keys(run).length > 0
}

/** `used` is asked for each limit that is set; the first argument is null for the whole run. */
export function showLimits(
  { run, agents }: RunLimitSet,
  used: (agent: string | null, key: LimitKey) => number,
): ShownRunLimits {
  const shown = (set: LimitSet, agent: string | null): ShownLimits => {
    const entries = limitKeys.flatMap((key) => {
      const limit = set[key]
      return limit === undefined ? [] : [[key, { limit: limit.most, used: used(agent, key) }] as const]
    })
    return Object.fromEntries(entries)
  }
  if (agents.size === 0) return shown(run, null)
  const ofAgents = [...agents].map(([name, set]) => [name, shown(set, name)] as const)
  return { ...shown(run, null), agents: Object.fromEntries(ofAgents) }
}
