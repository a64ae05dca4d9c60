import { isJsonObject } from "../../base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import type {
  ArithmeticExpression,
  AssetExpression,
  BinaryExpression,
  Expression,
  FailureExpression,
  ListExpression,
  MatchExpression,
  Root,
  Step,
} from "../../plan/expression.ts"
import type { CapturedValue } from "../../log/replay-data.ts"
import { placeKey } from "../../log/replay-state.ts"
import { isFileValue } from "../../types/file-value.ts"
import { asset, assetList, assetUrl, fileAsset, guessedKind, type Asset, type AssetOptions } from "./asset.ts"
import { assetParts } from "../../plan/expression-traits.ts"
import { applyFunction } from "./functions/apply-function.ts"
import { listSteps } from "./list-items.ts"
import { toEnd } from "./steps.ts"
import { compute, decidedByLeft, operate, type WrongOperand } from "./operate.ts"
import { failure } from "../../ports/run-failure.ts"
import { callOwn, codeRequest, resultOfOwn } from "./call-own.ts"
import { TakesLong } from "./evaluation-work.ts"
import { lacking, problem, type Scope } from "./scope.ts"
import { ArrayBuilder, ObjectBuilder, TextBuilder, toBoundedText } from "./value-builders.ts"

/**
 * The value of an expression without `call`, `read` or `render` in it (those are `evaluateEffects`'). What the checker
 * could not know is checked here: an untyped value that lacks what the expression needs is an `evaluation_error`.
 */
export function evaluate(expression: Expression, scope: Scope): JsonValue {
  scope.work.begin()
  return valueOf(expression, scope)
}

/** The same for a part of an expression. */
export function valueOf(expression: Expression, scope: Scope): JsonValue {
  // The most frequent come first: a list evaluates them for each of its elements.
  switch (expression.op) {
    case "reference":
      return lookUp(expression.root, scope, expression.text)
    case "chain": {
      const base = valueOf(expression.base, scope)
      const name = plainField(expression)
      return name === null ? followChain(expression, base, scope) : readField(expression, base, name, scope)
    }
    case "literal":
      return expression.value
    case "binary": {
      const left = valueOf(expression.left, scope)
      return shortcut(expression, left, scope) ?? operated(expression, left, valueOf(expression.right, scope), scope)
    }
    case "text": {
      const pieces = new TextBuilder(scope)
      for (const part of expression.parts) pieces.add(typeof part === "string" ? part : valueOf(part, scope))
      return pieces.text
    }
    case "array": {
      const items = new ArrayBuilder(scope)
      for (const item of expression.items) items.add(valueOf(item, scope))
      return items.array
    }
    case "list":
      return listed(expression, valueOf(expression.loop.items, scope), scope)
    case "object": {
      const fields = new ObjectBuilder(scope)
      for (const { key, value } of expression.entries) fields.set(key, valueOf(value, scope))
      return fields.object
    }
    case "default":
      return valueOf(expression.left, scope) ?? valueOf(expression.right, scope)
    case "not":
      return negated(expression, valueOf(expression.value, scope), scope)
    case "arithmetic":
      return computed(expression, valueOf(expression.left, scope), valueOf(expression.right, scope), scope)
    case "negate":
      return negative(expression, valueOf(expression.value, scope), scope)
    case "function": {
      const items = expression.items.map((item) => valueOf(item, scope))
      return applyFunction(expression, items, scope)
    }
    case "failure":
      return failureOf(expression, scope)
    case "own-function": {
      const items = expression.items.map((item) => valueOf(item, scope))
      const { called, inner } = callOwn(expression, items, scope)
      if (called.code !== undefined) {
        if (scope.codeSlot === undefined) throw new TakesLong()
        return scope.codeSlot.take(codeRequest(expression, called, items, scope))
      }
      return resultOfOwn(expression, called, valueOf(called.value, inner), scope)
    }
    case "match": {
      const matched = valueOf(expression.value, scope)
      return valueOf(chosenBranch(expression, matched, scope), { ...scope, matched })
    }
    case "asset": {
      const parts = assetParts(expression).map((part) => (part === null ? null : valueOf(part, scope)))
      return toAsset(expression, parts, scope)
    }
    case "call":
    case "call-workflow":
    case "read":
    case "render":
      throw new Error(`${expression.op} at ${scope.path} was taken for a pure expression`)
  }
}

/** A list whose value is pure, from the list that it is made of. */
function listed(expression: ListExpression, list: JsonValue, scope: Scope): JsonValue {
  return toEnd(listSteps(expression, list, scope, prepared))
}

type Evaluator = (scope: Scope) => JsonValue

const evaluators = new WeakMap<Expression, Evaluator>()

/**
 * The same as `valueOf`, for an expression that is evaluated for each element of a list: which parts it has is found out once. Those that
 * take long themselves are left to `valueOf`.
 */
export function prepared(expression: Expression): Evaluator {
  const before = evaluators.get(expression)
  if (before !== undefined) return before
  const made = prepare(expression)
  evaluators.set(expression, made)
  return made
}

function prepare(expression: Expression): Evaluator {
  switch (expression.op) {
    case "literal": {
      const { value } = expression
      return () => value
    }
    case "reference": {
      const { root, text } = expression
      if (root.kind !== "item") return (scope) => lookUp(root, scope, text)
      const { name } = root
      return ({ items }) => present(items.get(name), text)
    }
    case "chain": {
      const base = prepared(expression.base)
      const name = plainField(expression)
      return name === null
        ? (scope) => followChain(expression, base(scope), scope)
        : (scope) => readField(expression, base(scope), name, scope)
    }
    case "binary": {
      const [left, right] = [prepared(expression.left), prepared(expression.right)]
      return (scope) => {
        const first = left(scope)
        return shortcut(expression, first, scope) ?? operated(expression, first, right(scope), scope)
      }
    }
    case "not": {
      const value = prepared(expression.value)
      return (scope) => negated(expression, value(scope), scope)
    }
    case "arithmetic": {
      const [left, right] = [prepared(expression.left), prepared(expression.right)]
      return (scope) => computed(expression, left(scope), right(scope), scope)
    }
    default:
      return (scope) => valueOf(expression, scope)
  }
}

export function lookUp(root: Root, scope: Scope, text: string): JsonValue {
  switch (root.kind) {
    case "item":
      return present(scope.items.get(root.name), text)
    case "input":
      return scope.input
    case "secrets":
      return scope.secrets
    case "run":
      return scope.run
    case "matched":
      return scope.matched
    case "result":
      return present(scope.judged?.result, text)
    case "round":
      return present(scope.judged?.round, text)
    case "captured":
      return captured(scope.judged?.captured[root.index], scope, text)
    case "agent":
      return present(scope.agents.get(root.name), text)
    case "rounds":
      return present(scope.rounds.get(root.name), text)
    case "ask":
      return present(scope.answers.get(root.name), text)
    case "wait":
      return present(scope.waited.get(root.name), text)
    case "dynamic":
      return present(scope.dynamics.get(root.name), text)
    case "local":
      return present(scope.locals.get(root.name), text)
    case "variable":
      return present(scope.variables.get(root.name), text)
  }
}

/** In arrays as long as those of the step's value. */
export function failureOf({ of, site, depth }: FailureExpression, scope: Scope): JsonValue {
  const { root } = of
  const name = site ?? ("name" in root ? `agent.${root.name}` : "")
  const iteration = root.kind === "local" ? scope.iteration : null
  const found = (value: JsonValue, positions: readonly number[]): JsonValue => {
    if (positions.length < depth && Array.isArray(value)) {
      const failures = new ArrayBuilder(scope)
      for (const [position, one] of value.entries()) failures.add(found(one, [...positions, position]))
      return failures.array
    }
    const key = site === null ? placeKey(name, positions[0]) : placeKey(name, iteration, positions)
    const failed = scope.failures.get(key)
    if (failed === undefined) return null
    const shown = new ObjectBuilder(scope)
    shown.set("kind", failed.kind)
    shown.set("message", failed.message)
    return shown.object
  }
  return found(lookUp(root, scope, of.text), [])
}

function captured(found: CapturedValue | undefined, scope: Scope, text: string): JsonValue {
  if (found === undefined || "value" in found) return present(found?.value, text)
  throw failure("evaluation_error", scope.path, found.error)
}

/** The planner orders nodes and names by their references, so that a value that is not there yet is a bug. */
function present(value: JsonValue | undefined, text: string): JsonValue {
  if (value === undefined) throw new Error(`${text} was referred to before it was there`)
  return value
}

type Chain = Extract<Expression, { op: "chain" }>

/** The name, where a chain is one field, as most are. */
function plainField({ steps, lenient }: Chain): string | null {
  const [step] = steps
  return steps.length === 1 && lenient !== true && step?.step === "field" && !step.optional ? step.name : null
}

/** Whether the field of an untyped value is not there. */
function lacks(value: JsonValue, name: string): boolean {
  return value === null || (isJsonObject(value) && !Object.hasOwn(value, name))
}

export function followChain(chain: Chain, base: JsonValue, scope: Scope): JsonValue {
  const found = follow(chain, base, 0, scope)
  if (found === dropped) throw lacking(chain, ".**. needs an array", null, scope)
  return found
}

/** What `.**.` makes of null: the element of the pluck around it gives nothing. */
const dropped = Symbol("dropped")

function follow(chain: Chain, start: JsonValue, from: number, scope: Scope): JsonValue | typeof dropped {
  let value = start
  for (let at = from; at < chain.steps.length; at++) {
    const step = chain.steps[at]
    if (step === undefined) break
    if (value === null && (step.optional || step.step === "case")) return null
    switch (step.step) {
      case "field":
        if ((step.optional || chain.lenient === true) && lacks(value, step.name)) return null
        value = readField(chain, value, step.name, scope)
        break
      case "index":
        if (!Array.isArray(value)) throw lacking(chain, `[${step.index}] needs an array`, value, scope)
        value = value[step.index] ?? null
        break
      case "case":
        if (!isJsonObject(value)) throw lacking(chain, `#${step.name} needs an object`, value, scope)
        if (!isCase(value, step.tag, step.name, scope)) return null
        break
      case "pluck":
        return pluck(chain, step, value, at, scope)
    }
  }
  return value
}

function pluck(
  chain: Chain,
  step: Extract<Step, { step: "pluck" }>,
  value: JsonValue,
  at: number,
  scope: Scope,
): JsonValue | typeof dropped {
  if (value === null && step.nulls === "drop") return dropped
  const sign = { keep: ".*.", drop: ".**.", refuse: ".***." }[step.nulls]
  if (!Array.isArray(value)) throw lacking(chain, `${sign}${step.name} needs an array`, value, scope)
  scope.work.elements(value.length, scope.path)
  const plucked = new ArrayBuilder(scope)
  let kind: string | null = null
  for (let position = 0; position < value.length; position++) {
    const element = value[position] ?? null
    const isMissing = element === null || (chain.lenient === true && lacks(element, step.name))
    const field = isMissing ? null : readField(chain, element, step.name, scope, position)
    if (field === null) {
      if (step.nulls === "drop") continue
      if (step.nulls === "refuse") {
        const found = element === null ? `element ${position} is null` : `${step.name} of element ${position} is null`
        throw problem(chain.text, `.***. takes no nulls, but ${found}`, scope)
      }
    } else if (step.nulls === "refuse") {
      const found = kindOf(field)
      if (kind !== null && kind !== found) {
        throw problem(chain.text, `.***. takes values of one type, but found ${kind} and ${found}`, scope)
      }
      kind = found
    }
    const rest = follow(chain, field, at + 1, scope)
    if (rest !== dropped) plucked.add(rest)
  }
  return plucked.array
}

function readField(chain: Chain, value: JsonValue, name: string, scope: Scope, position?: number): JsonValue {
  if (isJsonObject(value)) {
    const found = value[name]
    // What an object inherits is functions, and `__proto__`. To ask whether it is its own takes longer than to read it.
    if (found !== undefined && typeof found !== "function" && name !== "__proto__") return found
    if (Object.hasOwn(value, name)) return value[name] ?? null
  }
  const of = position === undefined ? "" : ` of element ${position}`
  throw lacking(chain, `the field ${name}${of} is not there`, value, scope)
}

/** Without a known tag, a value is of a case when any field of its own names the case. */
function isCase(value: JsonObject, tag: string | null, name: string, scope: Scope): boolean {
  if (tag !== null) return Object.hasOwn(value, tag) && value[tag] === name
  const keys = Object.keys(value)
  scope.work.elements(keys.length, scope.path)
  return keys.some((key) => value[key] === name)
}

export function chosenBranch(expression: MatchExpression, matched: JsonValue, scope: Scope): Expression {
  const { branches, tag } = expression
  if (tag !== null && matched !== null && !isJsonObject(matched)) {
    throw lacking(expression, "match needs an object", matched, scope)
  }
  let rest: Expression | null = null
  for (const { takes, value } of branches) {
    if (takes.kind === "rest") rest ??= value
    else if (takes.kind === "value") {
      if (takes.value === matched) return value
    } else if (matched !== null && isJsonObject(matched) && isCase(matched, tag, takes.name, scope)) return value
  }
  if (rest !== null) return rest
  if (expression.isCondition === true) throw lacking(expression, "a condition is a boolean", matched, scope)
  throw lacking(expression, "no case of the match fits", matched, scope)
}

/** The result that the left side decides alone, null where the right side is needed. */
export function shortcut(expression: BinaryExpression, left: JsonValue, scope: Scope): boolean | null {
  const decided = decidedByLeft(expression.operator, left)
  return decided === null ? null : resultOf(expression, decided, scope)
}

export function operated(expression: BinaryExpression, left: JsonValue, right: JsonValue, scope: Scope): boolean {
  return resultOf(expression, operate(expression.operator, left, right, scope), scope)
}

export function negated(expression: { readonly text: string }, value: JsonValue, scope: Scope): boolean {
  return !resultOf(expression, typeof value === "boolean" ? value : { need: "! takes a boolean", found: value }, scope)
}

function resultOf(expression: { readonly text: string }, result: boolean | WrongOperand, scope: Scope): boolean {
  if (typeof result === "boolean") return result
  throw lacking(expression, result.need, result.found, scope)
}

export function computed(expression: ArithmeticExpression, left: JsonValue, right: JsonValue, scope: Scope): number {
  const result = compute(expression.operator, left, right, expression.integer)
  if (typeof result === "number") return result
  if (typeof result === "string") throw problem(expression.text, result, scope)
  throw lacking(expression, result.need, result.found, scope)
}

export function negative(expression: { readonly text: string }, value: JsonValue, scope: Scope): number {
  if (typeof value === "number") return value === 0 ? 0 : -value
  throw lacking(expression, "- takes a number", value, scope)
}

/** One asset, or one for each string of an array. `parts` are the values of `assetParts`. */
export function toAsset(expression: AssetExpression, parts: readonly JsonValue[], scope: Scope): JsonValue {
  const [value = null, mediaType = null, title = null, context = null, citations = null] = parts
  if (value === null) return null
  const text = (part: JsonValue): string | null => (part === null ? null : toBoundedText(part, scope))
  const about = {
    mediaType: text(mediaType),
    title: text(title),
    context: text(context),
    citations: citations === true,
  }
  if (!Array.isArray(value)) return oneAsset(expression, value, about, scope)
  scope.work.elements(value.length, scope.path)
  return assetList(value.map((one) => oneAsset(expression, one, about, scope)))
}

function oneAsset(expression: AssetExpression, value: JsonValue, about: AssetOptions, scope: Scope): Asset {
  if (isFileValue(value)) {
    const made = fileAsset(value, expression.type, about)
    if (made !== null) return made
    throw problem(expression.text, `no \`type\` says what a file of the media type ${value.media_type} is`, scope)
  }
  if (typeof value !== "string") throw lacking(expression, "an asset needs a URL or Base64 text", value, scope)
  scope.work.text(value.length, scope.path)
  const type = expression.type ?? guessedKind(value, about.mediaType)
  const url = assetUrl(type, value, about.mediaType)
  if (url === null) {
    throw problem(expression.text, "an asset needs an http(s) URL, a data URL or Base64 text, found other text", scope)
  }
  return asset(type, url, about)
}

function kindOf(value: JsonValue): string {
  if (value === null) return "null"
  if (Array.isArray(value)) return "array"
  return typeof value
}
