import { cutText } from "../../base/cut-text.ts"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import { runQuotedBytes } from "../../base/limits.ts"
import type { ErrorIssue, Rejection } from "../../log/events.ts"
import type { CapturedValue, CapturedValues } from "../../log/replay-data.ts"
import type { RequirementPlan } from "../../plan/plan-shape.ts"
import { RunFailure } from "../../ports/run-failure.ts"
import { evaluatePure, writeText } from "./evaluate-effects.ts"
import type { EvaluationWork } from "./evaluation-work.ts"
import { describe, emptyScope, problem, type Scope } from "./scope.ts"

export const noCaptures: CapturedValues = []

/** What requirements refer to besides `result`, evaluated. It is plain JSON: a question is stored with it. */
export async function capture(requires: readonly RequirementPlan[], scope: Scope): Promise<CapturedValues> {
  if (requires.length === 0) return noCaptures
  const captured: CapturedValue[][] = []
  for (const [index, { captures }] of requires.entries()) {
    const at = { ...scope, path: `${scope.path}.require[${index}]` }
    const values: CapturedValue[] = []
    for (const expression of captures) values.push(await attempt(() => evaluatePure(expression, at)))
    captured.push(values)
  }
  return captured
}

/** The value, or the sentence of the error: it counts only where the requirement needs the value. */
async function attempt<Value>(
  evaluated: () => Promise<Value>,
): Promise<{ readonly value: Value } | { readonly error: string }> {
  try {
    return { value: await evaluated() }
  } catch (error) {
    if (!(error instanceof RunFailure) || error.error.kind !== "evaluation_error") throw error
    return { error: error.error.message }
  }
}

/** Requirements with all that they need to judge an output or an answer. */
export interface Requirements {
  readonly requires: readonly RequirementPlan[]
  readonly captured: CapturedValues
  /** The step: `agent.post`. */
  readonly path: string
  readonly iteration: number | null
  readonly work: EvaluationWork
  readonly functions: NonNullable<Scope["functions"]>
  readonly code?: Scope["code"]
}

/** Resolves to the requirements that do not hold, in their order, each with its text. */
export async function rejectionsOf(judging: Requirements, result: JsonObject): Promise<Rejection[]> {
  const rejections: Rejection[] = []
  for (const [index, requirement] of judging.requires.entries()) {
    const scope = judgingScope(judging, index, result)
    const found = await attempt(async () => {
      const holds = await evaluatePure(requirement.condition, scope)
      if (typeof holds === "boolean") return holds
      throw problem(requirement.text, `a condition is a boolean, found ${describe(holds)}`, scope)
    })
    if ("value" in found && found.value) continue
    const message = "error" in found ? found.error : await textOf(requirement, scope)
    rejections.push({ index, message: cutText(message, runQuotedBytes) })
  }
  return rejections
}

async function textOf({ message, text }: RequirementPlan, scope: Scope): Promise<string> {
  if (message === null) return `Required: ${text}`
  const found = await attempt(async () => writeText(await evaluatePure(message, scope), scope))
  return "error" in found ? found.error : found.value
}

function judgingScope(
  { path, iteration, work, functions, code = null, captured }: Requirements,
  index: number,
  result: JsonObject,
): Scope {
  return {
    ...emptyScope,
    judged: { result, captured: captured[index] ?? [] },
    path: `${path}.require[${index}]`,
    iteration,
    functions,
    code,
    work,
  }
}

/** All that decides what fulfils them: as they are written, and what they refer to. */
export function requirementFacts({ requires, captured }: Pick<Requirements, "requires" | "captured">): JsonValue {
  return [requires.map(({ condition, message }) => ({ condition, message })), captured] as object as JsonValue
}

/** Rejections as the issues of an error. */
export function issuesOf(path: string, rejections: readonly Rejection[]): ErrorIssue[] {
  return rejections.map(({ index, message }) => ({ path: `${path}.require[${index}]`, message }))
}
