import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import type { Plan } from "../../plan/plan-shape.ts"
import type { Expression, FunctionPlan, OwnFunctionExpression } from "../../plan/expression.ts"
import { failure, type RunFailure } from "../../ports/run-failure.ts"
import type { WireError } from "../../log/events.ts"
import type { CapturedValue } from "../../log/replay-data.ts"
import type { EvaluationWork } from "./evaluation-work.ts"

/** What an expression can refer to, and where in the workflow it stands. */
export interface Scope {
  readonly input: JsonObject
  readonly secrets: JsonObject
  /** `id`, `started_at` and `date` of the run. */
  readonly run: JsonObject
  /** Outputs by agent; of a looped agent the array of them. */
  readonly agents: ReadonlyMap<string, JsonValue>
  /** Outputs of all rounds, by the agent that repeats. */
  readonly rounds: ReadonlyMap<string, JsonValue>
  /** What people answered, by the question's name. */
  readonly answers: ReadonlyMap<string, JsonValue>
  /** Data of events and times, by the name of the wait. */
  readonly waited: ReadonlyMap<string, JsonValue>
  readonly dynamics: ReadonlyMap<string, JsonValue>
  /** Why steps and calls failed that the run went on after, by their `placeKey`. */
  readonly failures: ReadonlyMap<string, StepFailure>
  /** Dynamic values of the agent that the expression stands in. */
  readonly locals: ReadonlyMap<string, JsonValue>
  /** Variables of the agent's loop. */
  readonly variables: ReadonlyMap<string, JsonValue>
  /** Variables of the lists around the expression. */
  readonly items: ReadonlyMap<string, JsonValue>
  /** The positions of these items, the outermost first: a part of the identity of a call. */
  readonly positions: readonly number[]
  /** Inside a branch of `match`. */
  readonly matched: JsonValue
  /** In a requirement, and in a repetition, which counts its rounds from 1. */
  readonly judged?: {
    readonly result: JsonValue
    readonly captured: readonly CapturedValue[]
    readonly round?: number
  }
  /** The dotted place, for errors: `agent.review.instruction`. */
  readonly path: string
  /** Inside a loop, for errors. */
  readonly iteration: number | null
  /** Functions of one's own, where there are any. */
  readonly functions?: Pick<Plan, "functions" | "types">
  /** Calls code. Absent outside of a run, and where a plan has none. */
  readonly code?: CodeRunner | null
  /** Where code is called in order, until the expression is evaluated. */
  readonly codeContext?: CodeContext
  /** In a list whose items call code together: the call of one item. */
  readonly codeSlot?: CodeSlot
  /** Makes and reads files. Absent outside of a run. */
  readonly files?: FileFunctions
  /** Says what the files of a run that has ended contain. Absent everywhere else. */
  readonly texts?: TextOfFile
  /** What the run's expressions cost together, and may cost. */
  readonly work: EvaluationWork
}

/** The functions of files: what they do takes a while, as a call does. */
export interface FileFunctions {
  make(expression: { readonly text: string }, items: readonly JsonValue[], scope: Scope): Promise<JsonValue>
  textOf(expression: { readonly text: string }, items: readonly JsonValue[], scope: Scope): Promise<JsonValue>
}

export type TextOfFile = (expression: { readonly text: string }, items: readonly JsonValue[], scope: Scope) => JsonValue

/** Runs code of code files. */
export interface CodeRunner {
  /** Evaluates in a fresh context, which lasts as long as that takes. */
  within<T>(scope: Scope, evaluate: (inner: Scope) => T | Promise<T>): Promise<T>
}

/** Calls are made one after the other, and see what those before them left. */
export interface CodeContext {
  call(request: CodeRequest): Promise<JsonValue>
  /** The values in the order of the calls. The first that fails is the last that is made. */
  callAll(requests: readonly CodeRequest[]): Promise<JsonValue[]>
}

/** A call of a function of a code file. */
export interface CodeRequest {
  readonly expression: OwnFunctionExpression
  readonly called: FunctionPlan
  /** JSON of the arguments. */
  readonly args: string
  readonly scope: Scope
}

/** The call of an item in a list, which is made together with those of other items. */
export interface CodeSlot {
  readonly answer: JsonValue | undefined
  /** The value, once there is one; until then it throws `TakesLong`, and the item waits. */
  take(request: CodeRequest): JsonValue
}

/** What `failure(…)` says of a failure. */
export type StepFailure = Pick<WireError, "kind" | "message">

const none: ReadonlyMap<string, never> = new Map<string, never>()

/** Scope of an expression outside of a run's steps: it sees what is added to this. */
export const emptyScope = {
  input: {},
  secrets: {},
  run: {},
  agents: none,
  rounds: none,
  answers: none,
  waited: none,
  dynamics: none,
  failures: none,
  locals: none,
  variables: none,
  items: none,
  positions: [],
  matched: null,
  iteration: null,
} satisfies Partial<Scope>

/** A value that is not what the expression needs. */
export function lacking(
  expression: { readonly text: string },
  need: string,
  found: JsonValue,
  scope: Scope,
): RunFailure {
  return problem(expression.text, `${need}, found ${describe(found)}`, scope)
}

export function problem(text: string, message: string, scope: Scope): RunFailure {
  const where = scope.iteration === null ? "" : ` (iteration ${scope.iteration})`
  return failure("evaluation_error", scope.path, `Cannot evaluate ${text}${where}: ${message}`)
}

/** How the author wrote an expression; of a default, what comes first. */
export function textOf(expression: Expression): string {
  if (expression.op === "default") return textOf(expression.left)
  return "text" in expression ? expression.text : "a literal"
}

/** What a value is, never what it holds: the sentence goes to the caller. */
export function describe(value: JsonValue): string {
  if (value === null) return "null"
  if (Array.isArray(value)) return `an array of ${value.length}`
  if (typeof value !== "object") return `a ${typeof value}`
  const names = Object.keys(value)
  if (names.length === 0) return "an empty object"
  const shown = names.slice(0, 8).join(", ")
  return `an object with the field${names.length === 1 ? "" : "s"} ${shown}${names.length > 8 ? ", …" : ""}`
}
