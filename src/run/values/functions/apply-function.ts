import type { JsonValue } from "../../../base/json-value.ts"
import { constantFunctions } from "../../../check/fold-constant.ts"
import {
  isFileFunction,
  type FileFunctionName,
  type ValueFunctionName as FunctionName,
} from "../../../check/function-table.ts"
import type { FunctionExpression } from "../../../plan/expression.ts"
import { RunEnding, RunFailure, failure } from "../../../ports/run-failure.ts"
import { EvaluationWork, TakesLong } from "../evaluation-work.ts"
import { toEnd, type Steps } from "../steps.ts"
import { emptyScope, type Scope } from "../scope.ts"
import { csv, parseCsv } from "./csv.ts"
import * as dates from "./dates.ts"
import * as encodings from "./encodings.ts"
import { FunctionCall } from "./function-call.ts"
import * as lists from "./lists.ts"
import * as numbers from "./numbers.ts"
import * as objects from "./objects.ts"
import * as patterns from "./patterns.ts"
import * as pieces from "./pieces.ts"
import * as texts from "./texts.ts"

// What each function of the table in src/check/function-table.ts does.

/** Functions that take long for large values work in steps. */
const inSteps = {
  split: texts.split,
  lines: texts.lines,
  join: texts.join,
  replace: texts.replace,
  text: texts.text,
  json: texts.json,
  csv,
  parse_csv: parseCsv,
  unique: lists.unique,
  zip: lists.zip,
  entries: objects.entries,
  from_entries: objects.fromEntries,
  chunks: lists.chunks,
  group_by: lists.groupBy,
  count_by: lists.countBy,
  pieces: pieces.pieces,
  matches: patterns.matches,
  find: patterns.find,
  find_all: patterns.findAll,
  replace_all: patterns.replaceAll,
} satisfies Partial<Record<FunctionName, (call: FunctionCall) => Steps<JsonValue>>>

/** Functions that take long also for a value with a few large parts. */
const writes: ReadonlySet<FunctionName> = new Set(["text", "json"])

type NameInSteps = keyof typeof inSteps

const evaluators: Readonly<
  Record<Exclude<FunctionName, NameInSteps | FileFunctionName>, (call: FunctionCall) => JsonValue>
> = {
  length: lists.length,
  lower: texts.lower,
  upper: texts.upper,
  trim: texts.trim,
  starts_with: texts.startsWith,
  ends_with: texts.endsWith,
  slice: lists.slice,
  at: lists.at,
  parse_json: texts.parseJsonText,
  number: numbers.numberOf,
  fixed: numbers.fixed,
  abs: numbers.abs,
  round: numbers.round,
  floor: numbers.floor,
  ceil: numbers.ceil,
  sum: numbers.sum,
  min: lists.min,
  max: lists.max,
  average: numbers.average,
  first: lists.first,
  last: lists.last,
  reverse: lists.reverse,
  flatten: lists.flatten,
  concat: lists.concat,
  range: lists.range,
  any: lists.any,
  all: lists.all,
  keys: objects.keys,
  values: objects.values,
  merge: objects.merge,
  add_days: dates.addDays,
  days_between: dates.daysBetween,
  weekday: dates.weekday,
  add_seconds: dates.addSeconds,
  seconds_between: dates.secondsBetween,
  format_date: dates.formatDate,
  date_of: dates.dateIn,
  sha256: encodings.sha256,
  base64: encodings.base64,
  from_base64: encodings.fromBase64,
  url_encode: encodings.urlEncode,
}

function isInSteps(name: FunctionName): name is NameInSteps {
  return Object.hasOwn(inSteps, name)
}

/** A call takes as long as copying this many characters, whatever it does. */
const perCall = 192

/** The result of a function, of arguments in their order. Throws `TakesLong` where others have to have their turn before it is there. */
export function applyFunction(expression: FunctionExpression, items: readonly JsonValue[], scope: Scope): JsonValue {
  scope.work.spend(perCall, scope.path)
  const { name } = expression
  if (name === "text_of" && scope.texts !== undefined) return scope.texts(expression, items, scope)
  if (isFileFunction(name)) throw new TakesLong()
  const call = new FunctionCall(expression, items, scope)
  try {
    if (!isInSteps(name)) return evaluators[name](call)
    if (scope.work.takesTurns && (call.isLarge || (writes.has(name) && call.isLong))) throw new TakesLong()
    return toEnd(inSteps[name](call))
  } catch (error) {
    throw naming(expression, error)
  }
}

/** A limit that a function exceeds is said with the call of it. */
function naming({ text }: FunctionExpression, error: unknown): unknown {
  if (!(error instanceof RunFailure) || error instanceof RunEnding) return error
  const { kind, message, issues } = error.error
  const isLimit = kind === "limit_exceeded" || kind === "payload_too_large"
  if (!isLimit || message.includes(" (in ")) return error
  return failure(kind, issues[0]?.path ?? "", `${message} (in ${text})`)
}

/** The same in steps. */
export function* functionSteps(
  expression: FunctionExpression,
  items: readonly JsonValue[],
  scope: Scope,
): Steps<JsonValue> {
  const { name } = expression
  if (isFileFunction(name)) return yield withFiles(name, expression, items, scope)
  if (!isInSteps(name)) return applyFunction(expression, items, scope)
  scope.work.spend(perCall, scope.path)
  try {
    return yield* inSteps[name](new FunctionCall(expression, items, scope))
  } catch (error) {
    throw naming(expression, error)
  }
}

/** What a function of files does is done elsewhere, as a call is. */
function withFiles(
  name: FileFunctionName,
  expression: FunctionExpression,
  items: readonly JsonValue[],
  scope: Scope,
): Promise<JsonValue> {
  const { files, path } = scope
  if (files === undefined) throw failure("evaluation_error", path, `\`${name}\` is called outside of a run`)
  return name === "make_file" ? files.make(expression, items, scope) : files.textOf(expression, items, scope)
}

// Defaults of inputs may be computed by functions, and are known before a run.
constantFunctions.apply = (name, items) => {
  if (isFileFunction(name)) return undefined
  const expression: FunctionExpression = { op: "function", name, items: [], integer: false, text: name }
  try {
    return applyFunction(expression, items, { ...emptyScope, path: name, work: new EvaluationWork() })
  } catch (error) {
    if (error instanceof RunFailure) return undefined
    throw error
  }
}
