import type { JsonObject, JsonValue } from "../base/json-value.ts"
import type { CallExpression, Entry, Expression, ReadExpression, RenderExpression } from "../plan/expression.ts"
import type { Scope } from "./evaluate.ts"
import {
  ArrayBuilder,
  chosenBranch,
  computed,
  evaluate,
  followChain,
  negated,
  negative,
  ObjectBuilder,
  operated,
  shortcut,
  TextBuilder,
  toAsset,
} from "./evaluate.ts"
import { assetParts, traits } from "../plan/expression-traits.ts"

/** What an expression can make happen outside. */
export interface Effects {
  call(expression: CallExpression, scope: Scope): Promise<JsonValue>
  read(expression: ReadExpression, scope: Scope): Promise<JsonValue>
  render(expression: RenderExpression, scope: Scope): Promise<JsonValue>
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
  if (!traits(expression).pure) return evaluateImpure(expression, scope, effects)
  const rest = scope.work.rest()
  return rest === null ? evaluate(expression, scope) : evaluateLater(expression, scope, rest)
}

/** When the event loop has had its turn. Of several that waited, each looks whether those before it have used it up. */
async function evaluateLater(expression: Expression, scope: Scope, rest: Promise<void>): Promise<JsonValue> {
  for (let next: Promise<void> | null = rest; next !== null; next = scope.work.rest()) await next
  return evaluate(expression, scope)
}

/** A value that is kept, with the memory that `work` counts for it until `work.forget` is called. */
export async function evaluateToKeep(
  expression: Expression,
  scope: Scope,
  effects: Effects,
): Promise<{ readonly value: JsonValue; readonly kept: number }> {
  const { work, path } = scope
  let value: JsonValue
  let kept: number
  if (traits(expression).pure) {
    for (let rest = work.rest(); rest !== null; rest = work.rest()) await rest
    value = evaluate(expression, scope)
    kept = work.made
  } else {
    value = await evaluateImpure(expression, scope, effects)
    kept = work.sizeOf(value, work.largest, path).bytes
  }
  work.keep(kept, path)
  return { value, kept }
}

/** Never throws by itself: one that fails at once must not leave those begun before it without anyone who waits. */
async function begin(expression: Expression, scope: Scope, effects: Effects): Promise<JsonValue> {
  return evaluateEffects(expression, scope, effects)
}

async function evaluateImpure(expression: Expression, scope: Scope, effects: Effects): Promise<JsonValue> {
  switch (expression.op) {
    case "literal":
    case "reference":
      return evaluate(expression, scope)
    case "text": {
      const pieces = await Promise.all(
        expression.parts.map((part) =>
          typeof part === "string" ? Promise.resolve(part) : begin(part, scope, effects),
        ),
      )
      scope.work.begin()
      const whole = new TextBuilder(scope)
      for (const piece of pieces) whole.add(piece)
      return whole.text
    }
    case "array": {
      const items = await Promise.all(expression.items.map((item) => begin(item, scope, effects)))
      scope.work.begin()
      const whole = new ArrayBuilder(scope)
      for (const item of items) whole.add(item)
      return whole.array
    }
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
      const [one, other] = await Promise.all([begin(left, scope, effects), begin(right, scope, effects)])
      return operated(expression, one, other, scope)
    }
    case "not":
      return negated(expression, await evaluateEffects(expression.value, scope, effects), scope)
    case "arithmetic": {
      const { left, right } = expression
      const [one, other] = await Promise.all([begin(left, scope, effects), begin(right, scope, effects)])
      return computed(expression, one, other, scope)
    }
    case "negate":
      return negative(expression, await evaluateEffects(expression.value, scope, effects), scope)
    case "match": {
      const matched = await evaluateEffects(expression.value, scope, effects)
      return evaluateEffects(chosenBranch(expression, matched, scope), { ...scope, matched }, effects)
    }
    case "asset": {
      const parts = await Promise.all(
        assetParts(expression).map((part) => (part === null ? Promise.resolve(null) : begin(part, scope, effects))),
      )
      return toAsset(expression, parts, scope)
    }
    case "call":
      return effects.call(expression, scope)
    case "read":
      return effects.read(expression, scope)
    case "render":
      return effects.render(expression, scope)
  }
}

export async function evaluateEntries(entries: readonly Entry[], scope: Scope, effects: Effects): Promise<JsonObject> {
  const values = await Promise.all(entries.map((entry) => begin(entry.value, scope, effects)))
  scope.work.begin()
  const whole = new ObjectBuilder(scope)
  for (const [index, { key }] of entries.entries()) whole.set(key, values[index] ?? null)
  return whole.object
}
