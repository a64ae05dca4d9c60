import type { JsonObject } from "../../base/json-value.ts"
import { cutText } from "../../base/cut-text.ts"
import { runQuotedBytes } from "../../base/limits.ts"
import type { ErrorIssue } from "../../log/events.ts"
import type { Plan } from "../../plan/plan-shape.ts"
import { RunFailure } from "../../ports/run-failure.ts"
import { withNulls } from "../../types/with-nulls.ts"
import { evaluate } from "./evaluate.ts"
import { EvaluationWork } from "./evaluation-work.ts"
import { describe, emptyScope, type Scope } from "./scope.ts"
import { toBoundedText } from "./value-builders.ts"

/** The input that counts: what is left out has its default, or is null where it may be. */
export function inputOf({ input, types }: Pick<Plan, "input" | "types">, given: JsonObject): JsonObject {
  return withNulls(given, input, types) as JsonObject
}

/** The requirements that an input of the right type does not fulfil, each as an issue. */
export function unfulfilled(
  plan: Pick<Plan, "input_requires" | "functions" | "types">,
  input: JsonObject,
): ErrorIssue[] {
  const { input_requires = [] } = plan
  return input_requires.flatMap(({ condition, message, text }, index) => {
    const path = `input.require[${index}]`
    const scope: Scope = { ...emptyScope, input, path, functions: plan, work: new EvaluationWork() }
    try {
      const holds = evaluate(condition, scope)
      if (holds === true) return []
      if (holds !== false) return [{ path, message: `A condition is a boolean, found ${describe(holds)}` }]
      const said = message === null ? `Required: ${text}` : toBoundedText(evaluate(message, scope), scope)
      return [{ path, message: cutText(said, runQuotedBytes) }]
    } catch (error) {
      if (error instanceof RunFailure) return [{ path, message: error.error.message }]
      throw error
    }
  })
}
