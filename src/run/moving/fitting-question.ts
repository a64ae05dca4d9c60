import { jsonEqual } from "../../base/json-equal.ts"
import { canonicalJson } from "../../base/canonical-json.ts"
import type { JsonValue } from "../../base/json-value.ts"
import { compareTypes } from "../../diff/compare-types.ts"
import type { AskedQuestion } from "../../log/events.ts"
import type { AskNode, Plan } from "../../plan/plan-shape.ts"
import { withoutTexts } from "../../plan/without-texts.ts"

/** An `ask` in one version of a workflow. */
export interface AskIn {
  readonly node: AskNode
  readonly plan: Plan
}

/** Whether answers to these questions of a step may be given to the same step of the new version, apart from new fields that may be null. */
export function answersFit(before: AskIn, after: AskIn): boolean {
  const types = [before, after].map(({ node, plan }) => ({ type: node.output, types: plan.types }))
  const [old, now] = types
  if (old === undefined || now === undefined) return false
  const changes = [...compareTypes("", "input", old, now), ...compareTypes("", "output", old, now)]
  return changes.every(({ change, breaking }) => change === "is new" && !breaking) && sameRequirements(before, after)
}

/** The values that requirements refer to were kept when the question was asked: other ones would lack theirs. */
function sameRequirements(before: AskIn, after: AskIn): boolean {
  if (after.node.requires.every(({ captures }) => captures.length === 0)) return true
  const [old, now] = [before, after].map(({ node, plan }) =>
    canonicalJson(withoutTexts([node.requires, plan.functions ?? null] as object as JsonValue)),
  )
  return old === now
}

/** Whether a person sees the same. */
export function looksSame(open: AskedQuestion, now: AskedQuestion): boolean {
  return (
    open.question === now.question &&
    open.to === now.to &&
    jsonEqual(open.show, now.show) &&
    jsonEqual(open.prefill ?? null, now.prefill ?? null)
  )
}
