import { canonicalJson } from "../base/canonical-json.ts"
import { jsonEqual } from "../base/json-equal.ts"
import type { JsonValue } from "../base/json-value.ts"
import type { Plan, RequirementPlan } from "../plan/plan-shape.ts"
import type { TriggerPlan } from "../plan/plan-triggers.ts"
import { withoutTexts } from "../plan/without-texts.ts"
import { showName } from "../types/show-type.ts"
import { compareTypes } from "./compare-types.ts"
import type { ContractChange } from "./diff-shape.ts"

/** One side of a comparison. */
export interface Contract {
  readonly plan: Plan
  readonly triggers: readonly TriggerPlan[]
}

/** How callers notice the change: breaking changes first. */
export function contractDiff(before: Contract, after: Contract): ContractChange[] {
  const [old, now] = [before.plan, after.plan]
  const sides = [
    compareTypes("input", "input", { type: old.input, types: old.types }, { type: now.input, types: now.types }),
    requirementChanges(old.input_requires ?? [], now.input_requires ?? []),
    compareTypes("secrets", "input", { type: old.secrets, types: {} }, { type: now.secrets, types: {} }),
    compareTypes("output", "output", { type: old.output, types: old.types }, { type: now.output, types: now.types }),
    chatChanges(old, now),
    triggerChanges(before.triggers, after.triggers),
  ]
  const all = sides.flat()
  return [...all.filter(({ breaking }) => breaking), ...all.filter(({ breaking }) => !breaking)]
}

function requirementChanges(before: readonly RequirementPlan[], after: readonly RequirementPlan[]): ContractChange[] {
  const meaning = ({ condition }: RequirementPlan): string =>
    canonicalJson(withoutTexts(condition as object as JsonValue))
  const had = new Set(before.map(meaning))
  const has = new Set(after.map(meaning))
  const change = (word: string, { text }: RequirementPlan, breaking: boolean): ContractChange => ({
    path: "input.require",
    change: `${word} the requirement \`${text}\``,
    breaking,
  })
  return [
    ...after.filter((one) => !had.has(meaning(one))).map((one) => change("gained", one, true)),
    ...before.filter((one) => !has.has(meaning(one))).map((one) => change("lost", one, false)),
  ]
}

function chatChanges({ chat: before }: Plan, { chat: after }: Plan): ContractChange[] {
  if (before === undefined) return after === undefined ? [] : [{ path: "chat", change: "is new", breaking: false }]
  if (after === undefined) return [{ path: "chat", change: "was removed", breaking: true }]
  const isSame = jsonEqual(before as object as JsonValue, after as object as JsonValue)
  return isSame ? [] : [{ path: "chat", change: "takes other fields", breaking: false }]
}

function triggerChanges(before: readonly TriggerPlan[], after: readonly TriggerPlan[]): ContractChange[] {
  const path = ({ kind, name }: TriggerPlan): string => `${kind}.${showName(name)}`
  const known = new Map(before.map((trigger) => [path(trigger), trigger]))
  const kept = after.flatMap((trigger): ContractChange[] => {
    const at = path(trigger)
    const old = known.get(at)
    known.delete(at)
    if (old === undefined) return [{ path: at, change: "is new", breaking: false }]
    const keys = [...new Set([...Object.keys(old), ...Object.keys(trigger)])].filter((key) => !madeKeys.has(key))
    const [was, is] = [old, trigger].map((one) => withoutTexts(one as object as JsonValue) as Record<string, JsonValue>)
    const properties = keys.filter((key) => !jsonEqual(was?.[key] ?? null, is?.[key] ?? null))
    if (properties.length === 0) return []
    const breaking = properties.includes("verify")
    return [{ path: at, change: `has another ${properties.join(", ")}`, breaking }]
  })
  const gone = [...known.values()].map((trigger): ContractChange => {
    // Nobody outside calls a schedule.
    return { path: path(trigger), change: "was removed", breaking: trigger.kind === "webhook" }
  })
  return [...gone, ...kept]
}

/** What follows from other keys. */
const madeKeys: ReadonlySet<string> = new Set(["headers", "queries", "functions", "kind", "name"])
