import type { JsonObject, JsonValue } from "../../src/base/json-value.ts"
import { compile } from "../../src/compile.ts"
import { RunFailure } from "../../src/ports/run-failure.ts"
import { evaluate } from "../../src/run/values/evaluate.ts"
import { EvaluationWork } from "../../src/run/values/evaluation-work.ts"
import type { Type } from "../../src/types/types.ts"

/** The value of an expression, with the type that the checker gives it; or the kind and message of the error. */
export type Evaluated =
  | { readonly kind: "value"; readonly value: JsonValue; readonly type: Type }
  | { readonly kind: "error"; readonly error: string; readonly message: string }
  | { readonly kind: "refused"; readonly codes: readonly string[] }

/** Compiles an expression and evaluates it; `header` declares what it may refer to. */
export function evaluateText(text: string, header = "", input: JsonObject = {}): Evaluated {
  const { plan, program, diagnostics } = compile(`${header}\noutput { r: ${text} }`)
  const node = plan?.nodes.at(-1)
  const type = program.output?.type.fields[0]?.type
  const entry = node?.kind === "output" ? node.fields[0] : undefined
  if (type === undefined || entry === undefined) return { kind: "refused", codes: diagnostics.map(({ code }) => code) }
  const none = new Map<string, JsonValue>()
  const scope = {
    input,
    secrets: {},
    agents: none,
    rounds: new Map(),
    answers: none,
    waited: none,
    dynamics: none,
    failures: new Map(),
    locals: none,
    variables: none,
    matched: null,
    run: { id: "test", started_at: "2026-01-01T00:00:00.000Z", date: "2026-01-01" },
    items: none,
    positions: [],
    path: "output.r",
    iteration: null,
    work: new EvaluationWork(),
  }
  try {
    return { kind: "value", value: evaluate(entry.value, scope), type }
  } catch (error) {
    if (!(error instanceof RunFailure)) throw error
    return { kind: "error", error: error.error.kind, message: error.error.message }
  }
}

/** The same for an expression that has a value. */
export function valueOfText(text: string, header?: string, input?: JsonObject): JsonValue {
  const found = evaluateText(text, header, input)
  if (found.kind === "value") return found.value
  throw new Error(`${text}: ${found.kind === "error" ? found.message : found.codes.join(", ")}`)
}
