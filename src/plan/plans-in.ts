import type { CalledWorkflow, Plan } from "./plan-shape.ts"

/** A plan and those of all workflows that it calls, each once. */
export function plansIn(plan: Plan): readonly Plan[] {
  const found = new Set([plan])
  for (const one of found) for (const called of Object.values(one.workflows ?? {})) found.add(called.plan)
  return [...found]
}

/** A plan without those that it calls: their numbers stand in their places. */
export type SeparatePlan = Omit<Plan, "workflows"> & {
  readonly workflows?: { readonly [name: string]: Omit<CalledWorkflow, "plan"> & { readonly plan: number } }
}

/** The same with each plan once: written as one tree, files that call each other many times would fill any memory. */
export function separatePlans(plan: Plan): readonly SeparatePlan[] {
  const plans = plansIn(plan)
  const numbers = new Map(plans.map((one, at) => [one, at]))
  return plans.map(({ workflows, ...one }) => {
    if (workflows === undefined) return one
    const called = Object.entries(workflows).map(([name, of]) => [name, { ...of, plan: numbers.get(of.plan) ?? 0 }])
    return { ...one, workflows: Object.fromEntries(called) }
  })
}

/** The first of the plans, with the others where they are called. Changes them. */
export function joinPlans(plans: readonly SeparatePlan[]): Plan {
  for (const { workflows = {} } of plans) {
    for (const called of Object.values(workflows)) Object.assign(called, { plan: plans[called.plan] })
  }
  const [first] = plans
  if (first === undefined) throw new Error("There is no plan")
  return first as unknown as Plan
}
