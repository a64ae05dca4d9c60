import type { CalledWorkflow, Plan } from "./plan-shape.ts"

// A scope names a call of a workflow within its run: `triage@dynamic.first`, `triage@agent.plan[2]#1`. That of a call inside a called
// workflow begins with the scope of the call around it and a slash.

/** Where a workflow is called. */
export interface CallPlace {
  /** Its declared name in the calling file. */
  readonly workflow: string
  /** The place of an expression, or `agent.name` for a call by the agent's model. */
  readonly site: string
  /** Positions in the loop, in each list around the call, and in the repetition, the outermost first. */
  readonly positions: readonly number[]
  /** Which call by the model of one step it is, from 1. */
  readonly count?: number
}

export function callScope(outer: string | null, { workflow, site, positions, count }: CallPlace): string {
  const own = `${workflow}@${site}${positions.map((position) => `[${position}]`).join("")}`
  const counted = count === undefined ? own : `${own}#${count}`
  return outer === null ? counted : `${outer}/${counted}`
}

/** The scope that a call is made in; null for a call of the run itself. */
export function scopeAround(scope: string): string | null {
  const slash = scope.lastIndexOf("/")
  return slash < 0 ? null : scope.slice(0, slash)
}

/** Whether a scope is another one or lies in it; null is that of the run. */
export function isWithin(scope: string | null, outer: string | null): boolean {
  return outer === null || scope === outer || (scope?.startsWith(`${outer}/`) ?? false)
}

/** How many calls are within each other. */
export function levelsOf(scope: string): number {
  return scope.split("/").length
}

/** The agent of the calling file whose expression or model makes the call; null where none does. */
export function callingAgent(scope: string): string | null {
  const own = scope.slice((scopeAround(scope) ?? "").length)
  return /@agent\.([^.[(#]+)/.exec(own)?.[1] ?? null
}

/** Whether a model makes the call, or one of those around it. */
export function isByModel(scope: string): boolean {
  return /#\d+(?:\/|$)/.test(scope)
}

/** The path of calls that leads to a step, as tests write it: `workflow.triage.` of `triage@dynamic.first`. */
export function stepPath(scope: string): string {
  return scope
    .split("/")
    .map((level) => `workflow.${level.slice(0, level.indexOf("@"))}.`)
    .join("")
}

/** The workflow that is called in a scope; undefined where the plan has none of that name. */
function calledAt(plan: Plan, scope: string): CalledWorkflow | undefined {
  let called: CalledWorkflow | undefined
  for (const level of scope.split("/")) {
    const { workflows = {} } = called === undefined ? plan : called.plan
    const name = level.slice(0, level.indexOf("@"))
    if (!Object.hasOwn(workflows, name)) return undefined
    called = workflows[name]
  }
  return called
}

/** The plan whose steps run in a scope; null is that of the run. */
export function planAt(plan: Plan, scope: string | null | undefined): Plan | undefined {
  return scope === null || scope === undefined ? plan : calledAt(plan, scope)?.plan
}
