import type { Plan } from "./plan-shape.ts"

/** A plan and those of all workflows that it calls, each once. */
export function plansIn(plan: Plan): readonly Plan[] {
  const found = new Set([plan])
  for (const one of found) for (const called of Object.values(one.workflows ?? {})) found.add(called.plan)
  return [...found]
}
