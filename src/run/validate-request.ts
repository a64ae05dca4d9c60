import type { JsonObject } from "../base/json-value.ts"
import { validateValue } from "../types/validate-value.ts"
import { plansIn } from "../plan/plans-in.ts"
import type { Limits, Plan } from "../plan/plan-shape.ts"
import type { ErrorIssue, WireError } from "../log/events.ts"
import { wireError } from "../ports/run-failure.ts"
import type { PriceList } from "./budget/price-list.ts"
import { inputOf, unfulfilled } from "./values/input-of.ts"
import { secretsOverLimits } from "../ports/secret-limits.ts"

/**
 * What of `input` and `secrets` does not fit the workflow's blocks, or is over the limits, and a limit on cost for models without
 * prices; null when all is well.
 */
export function validateRequest(
  plan: Plan,
  given: JsonObject,
  secrets: JsonObject,
  limits: Limits | null = null,
  prices?: PriceList,
): WireError | null {
  const input = inputOf(plan, given)
  let [first, ...rest]: ErrorIssue[] = [
    ...validateValue(input, plan.input, plan.types, "input"),
    ...validateValue(secrets, plan.secrets, plan.types, "secrets", { values: "hidden" }),
  ].map(({ path, message, hint }) => (hint === undefined ? { path, message } : { path, message, hint }))
  if (first === undefined) [first, ...rest] = unfulfilled(plan, input)
  if (first === undefined) [first, ...rest] = secretsOverLimits(secrets)
  if (first === undefined && limits?.cost !== undefined) [first, ...rest] = unpriced(plan, prices)
  return first === undefined ? null : wireError("input_error", [first, ...rest])
}

/** The models that a limit on cost could not govern. */
function unpriced(plan: Plan, prices: PriceList | undefined): ErrorIssue[] {
  const names = new Set(
    plansIn(plan).flatMap((own) =>
      own.nodes
        .flatMap((node) => (node.kind === "agent" ? [...node.models, ...(node.context?.compact?.models ?? [])] : []))
        .flatMap(({ name }) => (hasPrice(own, name, prices) ? [] : [name])),
    ),
  )
  return [...names].map((name) => ({
    path: "options.limits.cost",
    message: `model.${name} has no price, so its cost cannot be limited`,
    hint: `Add \`price { input: … output: … }\` to \`model ${name}\`.`,
  }))
}

/** The operator's list is asked for addresses and ids that are written out: others are known once the run has begun. */
function hasPrice({ models, providers }: Plan, name: string, prices: PriceList | undefined): boolean {
  const model = models[name]
  if (model === undefined || model.price !== null) return true
  const provider = providers[model.provider]
  const [endpoint, id] = [provider?.endpoint, model.id].map((one) => (one?.op === "literal" ? one.value : null))
  if (prices === undefined || provider === undefined) return false
  const api = model.api ?? provider.api
  return typeof endpoint === "string" && typeof id === "string" && prices.of({ api, endpoint }, id) !== null
}
