import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import type {
  CallExpression,
  Entry,
  Expression,
  ListExpression,
  ReadExpression,
  RenderExpression,
  WorkflowCallExpression,
} from "../../plan/expression.ts"
import type { CodeRequest, Scope } from "./scope.ts"
import { ArrayBuilder, ObjectBuilder, TextBuilder, textSteps } from "./value-builders.ts"
import {
  chosenBranch,
  computed,
  evaluate,
  followChain,
  negated,
  negative,
  operated,
  shortcut,
  prepared,
  toAsset,
} from "./evaluate.ts"
import { callOwn, codeRequest, resultOfOwn } from "./call-own.ts"
import { itemSteps, listSteps, scopeOfItem, type Chosen } from "./list-items.ts"
import { ItemSlot } from "./run-code.ts"
import type { Steps } from "./steps.ts"
import { TakesLong, type EvaluationWork } from "./evaluation-work.ts"
import { functionSteps } from "./functions/apply-function.ts"
import { assetParts, children, traits } from "../../plan/expression-traits.ts"

/** A call that is evaluated in steps makes promises. */
const perCallInSteps = 8192
const perCallOfCode = 512

/** What an expression can make happen outside. */
export interface Effects {
  call(expression: CallExpression, scope: Scope): Promise<JsonValue>
  callWorkflow(expression: WorkflowCallExpression, scope: Scope): Promise<JsonValue>
  read(expression: ReadExpression, scope: Scope): Promise<JsonValue>
  render(expression: RenderExpression, scope: Scope): Promise<JsonValue>
  /** Does the work for each position of a list that calls, so many at a time; no more of them begin once one has failed. */
  each(
    count: number,
    concurrency: number | undefined,
    scope: Scope,
    work: (position: number) => Promise<void>,
  ): Promise<void>
}

/**
 * The value of any expression. Effects beside each other (items, fields, pieces of a text) happen side by side; those
 * that the value does not need (the right of `??`, of `&&` and of `||`, other branches of a `match`) never happen.
 */
export function evaluateEffects(
  expression: Expression,
  scope: Scope,
  effects: Effects,
): JsonValue | Promise<JsonValue> {
  if (takesTurns(expression)) return evaluateParts(expression, scope, effects)
  return orInSteps(
    () => evaluate(expression, scope),
    () => evaluateParts(expression, scope, effects),
    scope.work,
  )
}

/** For expressions that call, read and render nothing. */
export const noEffects: Effects = {
  call: (_, { path }) => Promise.reject(new Error(`A call at ${path} was taken for a pure expression`)),
  callWorkflow: (_, { path }) => Promise.reject(new Error(`A call at ${path} was taken for a pure expression`)),
  read: (_, { path }) => Promise.reject(new Error(`A read at ${path} was taken for a pure expression`)),
  render: (_, { path }) => Promise.reject(new Error(`A render at ${path} was taken for a pure expression`)),
  each: (_, __, { path }) => Promise.reject(new Error(`Calls at ${path} were taken for a pure expression`)),
}

/** The value of an expression without effects; others have their turn meanwhile. */
export async function evaluatePure(expression: Expression, scope: Scope): Promise<JsonValue> {
  return evaluateEffects(expression, scope, noEffects)
}

/** Whether others have their turn while the expression is evaluated: it calls, or goes over lists that may be long. */
function takesTurns(expression: Expression): boolean {
  const { pure, loops } = traits(expression)
  return !pure || loops
}

/** A value that is kept, with the memory that `work` counts for it until `work.forget` is called. */
export async function evaluateToKeep(
  expression: Expression,
  scope: Scope,
  effects: Effects,
): Promise<{ readonly value: JsonValue; readonly kept: number }> {
  const { work, path } = scope
  const keep = (value: JsonValue, kept: number): { readonly value: JsonValue; readonly kept: number } => {
    work.keep(kept, path)
    return { value, kept }
  }
  const inSteps = async (): Promise<{ readonly value: JsonValue; readonly kept: number }> => {
    const value = await evaluateParts(expression, scope, effects)
    return keep(value, work.sizeOf(value, work.largest, path).bytes)
  }
  if (takesTurns(expression)) return inSteps()
  return orInSteps(() => keep(evaluate(expression, scope), work.made), inSteps, work)
}

/** Evaluates without a rest when its turn comes; in steps where that would take long. */
function orInSteps<T>(atOnce: () => T, inSteps: () => Promise<T>, work: EvaluationWork): T | Promise<T> {
  return work.inTurn((): T | Promise<T> => {
    try {
      return atOnce()
    } catch (error) {
      if (error instanceof TakesLong) return inSteps()
      throw error
    }
  })
}

/** Never throws by itself: one that fails at once must not leave those begun before it without anyone who waits. */
async function begin(expression: Expression, scope: Scope, effects: Effects): Promise<JsonValue> {
  return evaluateEffects(expression, scope, effects)
}

/**
 * Code is called in order, in a context that no call of a tool, model or person interrupts: what computes alone has one for all of it. In an
 * expression that calls, each part that computes alone has its own.
 */
function evaluateParts(expression: Expression, scope: Scope, effects: Effects): Promise<JsonValue> {
  if (!needsCode(scope, [expression])) return partsOf(expression, scope, effects)
  return withCode(scope, (inner) => partsOf(expression, inner, effects))
}

function needsCode(scope: Scope, expressions: readonly Expression[]): boolean {
  if (scope.codeContext !== undefined) return false
  const found = expressions.map(traits)
  return found.some(({ code }) => code > 0) && found.every(({ pure }) => pure)
}

function withCode<T>(scope: Scope, evaluate: (inner: Scope) => T | Promise<T>): Promise<T> {
  if (scope.code === undefined || scope.code === null) throw new Error(`Code at ${scope.path} has nothing to run it`)
  return scope.code.within(scope, evaluate)
}

/** The values of parts: side by side, or in order where they call code. */
async function beginAll(parts: readonly Expression[], scope: Scope, effects: Effects): Promise<JsonValue[]> {
  if (scope.codeContext === undefined) return Promise.all(parts.map((part) => begin(part, scope, effects)))
  const values: JsonValue[] = []
  for (const part of parts) values.push(await begin(part, scope, effects))
  return values
}

async function partsOf(expression: Expression, scope: Scope, effects: Effects): Promise<JsonValue> {
  switch (expression.op) {
    case "literal":
    case "reference":
    case "failure":
      return evaluate(expression, scope)
    case "text": {
      const values = await beginAll(children(expression), scope, effects)
      const pieces = expression.parts.map((part) => (typeof part === "string" ? part : (values.shift() ?? null)))
      scope.work.begin()
      return inTurns(joinSteps(pieces, scope), scope.work)
    }
    case "array": {
      const items = await beginAll(expression.items, scope, effects)
      scope.work.begin()
      const whole = new ArrayBuilder(scope)
      for (const item of items) whole.add(item)
      return whole.array
    }
    case "list":
      return evaluateList(expression, scope, effects)
    case "object":
      return evaluateEntries(expression.entries, scope, effects)
    case "chain": {
      const base = await evaluateEffects(expression.base, scope, effects)
      scope.work.begin()
      return followChain(expression, base, scope)
    }
    case "default":
      return (
        (await evaluateEffects(expression.left, scope, effects)) ??
        (await evaluateEffects(expression.right, scope, effects))
      )
    case "binary": {
      const { left, right, operator } = expression
      if (operator === "&&" || operator === "||") {
        const first = await evaluateEffects(left, scope, effects)
        const decided = shortcut(expression, first, scope)
        return decided ?? operated(expression, first, await evaluateEffects(right, scope, effects), scope)
      }
      const [one = null, other = null] = await beginAll([left, right], scope, effects)
      return operated(expression, one, other, scope)
    }
    case "not":
      return negated(expression, await evaluateEffects(expression.value, scope, effects), scope)
    case "arithmetic": {
      const { left, right } = expression
      const [one = null, other = null] = await beginAll([left, right], scope, effects)
      return computed(expression, one, other, scope)
    }
    case "negate":
      return negative(expression, await evaluateEffects(expression.value, scope, effects), scope)
    case "function": {
      const items = await beginAll(expression.items, scope, effects)
      scope.work.begin()
      return inTurns(functionSteps(expression, items, scope), scope.work)
    }
    case "own-function": {
      const items = await beginAll(expression.items, scope, effects)
      // The CPU of code has a limit of its own.
      scope.work.spend(expression.code === undefined ? perCallInSteps : perCallOfCode, scope.path)
      const { called, inner } = callOwn(expression, items, scope)
      if (called.code !== undefined) return callCode(codeRequest(expression, called, items, scope))
      return resultOfOwn(expression, called, await evaluateEffects(called.value, inner, effects), scope)
    }
    case "match": {
      const matched = await evaluateEffects(expression.value, scope, effects)
      return evaluateEffects(chosenBranch(expression, matched, scope), { ...scope, matched }, effects)
    }
    case "asset": {
      const values = await beginAll(children(expression), scope, effects)
      const parts = assetParts(expression).map((part) => (part === null ? null : (values.shift() ?? null)))
      return toAsset(expression, parts, scope)
    }
    case "call":
      return effects.call(expression, scope)
    case "call-workflow":
      return effects.callWorkflow(expression, scope)
    case "read":
      return effects.read(expression, scope)
    case "render":
      return effects.render(expression, scope)
  }
}

/** Where arguments of it call, the call has a context of its own. */
async function callCode(request: CodeRequest): Promise<JsonValue> {
  const { scope } = request
  if (scope.codeSlot?.answer !== undefined) return scope.codeSlot.answer
  if (scope.codeContext !== undefined) return scope.codeContext.call(request)
  return withCode(scope, (inner) => inner.codeContext?.call({ ...request, scope: inner }) ?? null)
}

/** The most items of a list that call code together, and characters of their arguments. */
const perBatch = 256
const perBatchLength = 1024 * 1024

/** A list of which each item calls code once at most: a message to the sandbox for each call would take longer than the calls. */
async function callTogether(
  { loop, value }: ListExpression,
  { elements, positions }: Chosen,
  scope: Scope,
  effects: Effects,
): Promise<JsonValue> {
  const { work, codeContext } = scope
  if (codeContext === undefined) throw new Error(`Code at ${scope.path} has no context`)
  const values: JsonValue[] = []
  const evaluateItem = prepared(value)
  let at = 0
  while (at < elements.length) {
    /** Items that are evaluated, or have asked for a call; the first that takes long is evaluated by itself, after these. */
    const waiting: { readonly inner: Scope; readonly slot: ItemSlot }[] = []
    let last: Scope | null = null
    let failed: { readonly error: unknown } | null = null
    await work.inTurn(() => {
      work.begin()
      let length = 0
      while (at < elements.length && waiting.length < perBatch && length < perBatchLength && !work.isDue) {
        const slot = new ItemSlot()
        const plain = scopeOfItem(loop, elements[at] ?? null, at, positions?.[at] ?? at, scope)
        const inner = { ...plain, codeSlot: slot }
        try {
          slot.value = evaluateItem(inner)
        } catch (error) {
          if (!(error instanceof TakesLong)) {
            failed = { error }
            return
          }
          if (slot.request === null) {
            last = plain
            at++
            return
          }
          length += slot.request.args.length
        }
        waiting.push({ inner, slot })
        at++
      }
    })
    const asked = waiting.flatMap(({ slot }) => slot.request ?? [])
    const answers = asked.length === 0 ? [] : await codeContext.callAll(asked)
    for (const { inner, slot } of waiting) {
      if (slot.request !== null) {
        slot.answer = answers.shift() ?? null
        slot.value = await work.inTurn(() => valueOfItem(inner))
      }
      values.push(slot.value ?? null)
    }
    if (failed !== null) throw (failed as { readonly error: unknown }).error
    if (last !== null) values.push(await evaluateEffects(value, last, effects))
  }
  work.begin()
  const whole = new ArrayBuilder(scope)
  for (const one of values) whole.add(one)
  return whole.array

  function valueOfItem(inner: Scope): JsonValue | Promise<JsonValue> {
    try {
      return evaluateItem(inner)
    } catch (error) {
      if (error instanceof TakesLong) return evaluateEffects(value, inner, effects)
      throw error
    }
  }
}

function* joinSteps(pieces: readonly JsonValue[], scope: Scope): Steps<JsonValue> {
  const whole = new TextBuilder(scope)
  for (const piece of pieces) {
    if (scope.work.isDue) yield null
    yield* whole.addSteps(piece)
  }
  return whole.text
}

/** The text of a value; others have their turn while a long one is written. */
export function writeText(value: JsonValue, scope: Scope): Promise<string> {
  return inTurns(textSteps(value, scope), scope.work)
}

/** The calls of different items happen side by side; the values are in the order of the items. */
async function evaluateList(expression: ListExpression, scope: Scope, effects: Effects): Promise<JsonValue> {
  const { work, path } = scope
  const { loop, value } = expression
  const list = await evaluateEffects(loop.items, scope, effects)
  work.begin()
  const prepare = (part: Expression): ((inner: Scope) => JsonValue | Promise<JsonValue>) => {
    if (traits(part).loops) return (inner) => evaluateParts(part, inner, effects)
    const atOnce = prepared(part)
    return (inner) => {
      try {
        return atOnce(inner)
      } catch (error) {
        if (error instanceof TakesLong) return evaluateParts(part, inner, effects)
        throw error
      }
    }
  }
  if (traits(value).code === 1 && traits(value).pure && !traits(value).lists) {
    const chosen = await inTurns(itemSteps(expression, list, scope, prepare), work)
    return callTogether(expression, chosen, scope, effects)
  }
  if (traits(value).pure) return inTurns(listSteps(expression, list, scope, prepare), work)
  const { elements, positions } = await inTurns(itemSteps(expression, list, scope, prepare), work)
  const values: JsonValue[] = Array.from(elements, () => null)
  let bytes = 2
  await effects.each(elements.length, expression.concurrency, scope, async (position) => {
    const index = positions?.[position] ?? position
    const inner = scopeOfItem(loop, elements[position] ?? null, position, index, scope)
    const made = await evaluateEffects(value, inner, effects)
    values[position] = made
    // Values that are too large together are refused before the last of them is there.
    bytes += 1 + work.sizeOf(made, work.largest, path).bytes
    work.checkSize(bytes, path)
  })
  work.begin()
  const whole = new ArrayBuilder(scope)
  for (const one of values) whole.add(one)
  return whole.array
}

/** Does the steps one after the other; the event loop has a turn between them where it is due. */
async function inTurns<Result>(steps: Steps<Result>, work: EvaluationWork): Promise<Result> {
  let step = await work.inTurn(() => steps.next(null))
  while (step.done !== true) {
    const { value } = step
    const found = value === null ? null : await value
    step = await work.inTurn(() => steps.next(found))
  }
  return step.value
}

export async function evaluateEntries(entries: readonly Entry[], scope: Scope, effects: Effects): Promise<JsonObject> {
  const parts = entries.map((entry) => entry.value)
  if (needsCode(scope, parts)) return withCode(scope, (inner) => evaluateEntries(entries, inner, effects))
  const values = await beginAll(parts, scope, effects)
  scope.work.begin()
  const whole = new ObjectBuilder(scope)
  for (const [index, { key }] of entries.entries()) whole.set(key, values[index] ?? null)
  return whole.object
}
