import type { JsonObject, JsonValue } from "../base/json-value.ts"
import { cutText } from "../base/cut-text.ts"
import type { Expression } from "../plan/expression.ts"
import { children } from "../plan/expression-traits.ts"
import type { ExpectPlan } from "../plan/plan-tests.ts"
import { RunFailure } from "../ports/run-failure.ts"
import { emptyScope, type Scope } from "../run/values/scope.ts"
import { evaluate } from "../run/values/evaluate.ts"
import { EvaluationWork } from "../run/values/evaluation-work.ts"
import { inOrder, type ObservedRun } from "./observe-run.ts"
import { deservesDifference, showDifference } from "./show-difference.ts"

export interface Failure {
  /** The expectation as it is written, or what went wrong with the run. */
  readonly text: string
  /** Offset in the test file. */
  readonly at: number
  readonly details: readonly string[]
}

/** What a test's expressions see. */
export function testScope(
  functions: NonNullable<Scope["functions"]>,
  input: JsonObject,
  row: ReadonlyMap<string, JsonValue>,
  run: ObservedRun | null,
  values: JsonObject = {},
): Scope {
  const variables = new Map(row)
  if (run !== null) {
    if (run.error === null) variables.set("output", run.output)
    else variables.set("error", run.error as object as JsonObject)
    variables.set("usage", { ...run.usage })
    variables.set("duration_ms", run.duration_ms)
  }
  return {
    ...emptyScope,
    input,
    run: values,
    ...(run !== null && { agents: run.agents, rounds: run.rounds, answers: run.answers }),
    variables: run === null ? variables : new ObservedVariables(variables, run),
    path: "expect",
    functions,
    work: new EvaluationWork(),
  }
}

/** `ran agent.x` and its like are variables of that name. */
class ObservedVariables extends Map<string, JsonValue> {
  readonly #run: ObservedRun

  constructor(values: ReadonlyMap<string, JsonValue>, run: ObservedRun) {
    super(values)
    this.#run = run
  }

  override get(name: string): JsonValue | undefined {
    const [, word, id = "", index = "0"] =
      /^(ran|skipped|asked|calls_of|calls|called|rejections) ([^[]*)(?:\[(\d+)\])?$/.exec(name) ?? []
    if (word === undefined) return super.get(name)
    const step = this.#run.steps.get(id)
    switch (word) {
      case "ran":
        return step?.ran ?? false
      case "skipped":
        return step?.skipped ?? false
      case "asked":
        return step?.asked[Number(index)] ?? null
      case "called":
        return (step?.calls ?? 0) > 0
      case "calls_of":
        return inOrder(step?.arguments ?? [])
      case "rejections":
        return step?.rejections ?? 0
      default:
        return step?.calls ?? 0
    }
  }

  override has(name: string): boolean {
    return this.get(name) !== undefined
  }
}

/** Null when it holds. */
export function checkExpectation(expect: ExpectPlan, scope: Scope): Failure | null {
  const { text, span, condition } = expect
  const failed = (details: readonly string[]): Failure => ({ text: `expect ${text}`, at: span.start, details })
  const value = tried(condition, scope)
  if (value.value === true) return null
  return failed([...(value.problem === null ? [] : [value.problem]), ...explain(condition, scope)])
}

interface Tried {
  readonly value: JsonValue
  readonly problem: string | null
}

function tried(expression: Expression, scope: Scope): Tried {
  try {
    return { value: evaluate(expression, scope), problem: null }
  } catch (error) {
    if (!(error instanceof RunFailure)) throw error
    return { value: null, problem: error.error.message }
  }
}

/** The values of the parts, those of the part that decided first. */
function explain(expression: Expression, scope: Scope): string[] {
  if (expression.op === "binary" && expression.operator === "&&") {
    const left = tried(expression.left, scope).value
    return explain(left === true ? expression.right : expression.left, scope)
  }
  const parts = partsOf(expression).filter(({ text }) => !text.startsWith("asked "))
  const lines = parts.flatMap(({ part }) => showPart(part, scope))
  const difference = expression.op === "binary" ? showEquality(expression, scope) : []
  return [...new Set(lines), ...difference, ...showAsked(expression, scope)]
}

/** Shows the value of a part; for a path that leads nowhere, the value at its beginning. */
function showPart(part: Part, scope: Scope): string[] {
  const [, step] = part.op === "reference" ? (/^(?:called|calls_of) (.*)$/.exec(part.text) ?? []) : []
  if (step !== undefined) return showCalls(step, scope.variables.get(`calls_of ${step}`) ?? [])
  const { value, problem } = tried(part, scope)
  if (problem === null) return [`${part.text} is ${showValue(value)}`]
  return part.op === "chain" && part.base.op === "reference" ? showPart(part.base, scope) : []
}

const mostCalls = 10

function showCalls(step: string, calls: JsonValue): string[] {
  if (!Array.isArray(calls) || calls.length === 0) return [`${step} was not called`]
  const more = calls.length > mostCalls ? [`  and ${calls.length - mostCalls} more`] : []
  const shown = calls.slice(0, mostCalls).map((call) => `  ${showValue(call)}`)
  return [`${step} was called ${calls.length === 1 ? "once" : `${calls.length} times`}, with`, ...shown, ...more]
}

export function showValue(value: JsonValue): string {
  return cutText(JSON.stringify(value), 200)
}

function showEquality(expression: Expression & { op: "binary" }, scope: Scope): string[] {
  if (expression.operator !== "==") return []
  const found = tried(expression.left, scope)
  const expected = tried(expression.right, scope)
  if (found.problem !== null || expected.problem !== null || !deservesDifference(found.value, expected.value)) return []
  return ["- expected", "+ found", ...showDifference(expected.value, found.value)]
}

/** The whole instruction where an expectation about it failed. */
function showAsked(expression: Expression, scope: Scope): string[] {
  const asked = partsOf(expression).filter(({ text }) => text.startsWith("asked "))
  return asked.flatMap(({ text, part }) => {
    const { value } = tried(part, scope)
    if (typeof value !== "string") return [`${text} is null: it was not asked`]
    return [`${text}:`, ...value.split("\n").map((line) => `  | ${line}`)]
  })
}

type Part = Extract<Expression, { op: "reference" | "chain" | "function" }>

/** References, paths and texts of files, each as a whole. The item of a list and the value of a branch have no value outside of them. */
function partsOf(expression: Expression): { readonly text: string; readonly part: Part }[] {
  const found = new Map<string, Part>()
  const visit = (node: Expression): void => {
    const base = node.op === "chain" ? node.base : node
    if (node.op === "function" && node.name === "text_of") found.set(node.text, node)
    else if (base.op !== "reference") for (const child of children(node)) visit(child)
    else if (base.root.kind !== "item" && base.root.kind !== "matched") found.set((node as Part).text, node as Part)
  }
  visit(expression)
  return [...found].map(([text, part]) => ({ text, part }))
}
