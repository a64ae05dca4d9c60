import type { JsonObject } from "../base/json-value.ts"
import { validateValue } from "../types/validate-value.ts"
import { plansIn } from "../plan/plans-in.ts"
import type { Limits, Plan } from "../plan/plan-shape.ts"
import type { ErrorIssue, WireError } from "../log/events.ts"
import { wireError } from "../ports/run-failure.ts"
import type { PriceList } from "./budget/price-list.ts"
import { takesFiles } from "./files/take-files.ts"
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
  // Conditions on files are checked once the files are there.
  if (first === undefined && !takesFiles(plan)) [first, ...rest] = unfulfilled(plan, input)
  if (first === undefined) [first, ...rest] = secretsOverLimits(secrets)
  if (first === undefined && limits?.cost !== undefined)
    [first, ...rest] = unpriced(plan, "options.limits.cost", prices)
  return first === undefined ? null : wireError("input_error", [first, ...rest])
}

/** The requirements on the input that do not hold; null when all is well. */
export function unmetBy(plan: Plan, input: JsonObject): WireError | null {
  const [first, ...rest] = unfulfilled(plan, input)
  return first === undefined ? null : wireError("input_error", [first, ...rest])
}

/** The models that a limit or budget on cost could not govern. `listed`: only prices of the operator's list count. */
export function unpriced(plan: Plan, path: string, prices?: PriceList, listed = false): ErrorIssue[] {
  const names = new Set(
    plansIn(plan).flatMap((own) =>
      own.nodes
        .flatMap((node) => (node.kind === "agent" ? [...node.models, ...(node.context?.compact?.models ?? [])] : []))
        .flatMap(({ name }) => (hasPrice(own, name, prices, listed) ? [] : [name])),
    ),
  )
  return [...names].map((name) => ({
    path,
    code: "unpriced-model",
    message: listed
      ? `model.${name} has no price in the operator's list, and a budget on cost goes by that`
      : `model.${name} has no price, so its cost cannot be limited`,
    hint: listed
      ? "Ask the operator to add the model to WIRE_PRICES."
      : `Add \`price { input: … output: … }\` to \`model ${name}\`.`,
  }))
}

/** The operator's list is asked for addresses and ids that are written out: others are known once the run has begun. */
function hasPrice({ models, providers }: Plan, name: string, prices: PriceList | undefined, listed: boolean): boolean {
  const model = models[name]
  if (model === undefined || (model.price !== null && !listed)) return true
  const provider = providers[model.provider]
  const [endpoint, id] = [provider?.endpoint, model.id].map((one) => (one?.op === "literal" ? one.value : null))
  if (provider === undefined) return false
  // One that is computed is looked up before each call.
  if (listed && (typeof endpoint !== "string" || typeof id !== "string")) return true
  if (prices === undefined) return false
  const api = model.api ?? provider.api
  return typeof endpoint === "string" && typeof id === "string" && prices.of({ api, endpoint }, id) !== null
}
