import type { JsonObject, JsonValue } from "../base/json-value.ts"
import type { CallExpression, Entry, Expression } from "../plan/expression.ts"
import type { Scope } from "./evaluate.ts"
import { chosenBranch, evaluate, followChain, setOwn, toAsset, toText } from "./evaluate.ts"
import { traits } from "../plan/expression-traits.ts"

export type ReadExpression = Extract<Expression, { op: "read" }>
export type RenderExpression = Extract<Expression, { op: "render" }>

/** What an expression can make happen outside. */
export interface Effects {
  call(expression: CallExpression, scope: Scope): Promise<JsonValue>
  read(expression: ReadExpression, scope: Scope): Promise<JsonValue>
  render(expression: RenderExpression, scope: Scope): Promise<JsonValue>
}

/**
 * The value of any expression. Effects beside each other (items, fields, pieces of a text) happen side by side; those
 * that the value does not need (the right of `??`, other branches of a `match`) never happen.
 */
export function evaluateEffects(
  expression: Expression,
  scope: Scope,
  effects: Effects,
): JsonValue | Promise<JsonValue> {
  return traits(expression).pure ? evaluate(expression, scope) : evaluateImpure(expression, scope, effects)
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
      return pieces.map(toText).join("")
    }
    case "array":
      return Promise.all(expression.items.map((item) => begin(item, scope, effects)))
    case "object":
      return evaluateEntries(expression.entries, scope, effects)
    case "chain":
      return followChain(expression, await evaluateEffects(expression.base, scope, effects), scope)
    case "default":
      return (
        (await evaluateEffects(expression.left, scope, effects)) ??
        (await evaluateEffects(expression.right, scope, effects))
      )
    case "match": {
      const matched = await evaluateEffects(expression.value, scope, effects)
      return evaluateEffects(chosenBranch(expression, matched, scope), { ...scope, matched }, effects)
    }
    case "asset": {
      const [value, mediaType, title] = await Promise.all(
        [expression.value, expression.media_type, expression.title].map((part) =>
          part === null ? Promise.resolve(null) : begin(part, scope, effects),
        ),
      )
      return toAsset(expression, value ?? null, mediaType ?? null, title ?? null, scope)
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
  const object: JsonObject = {}
  for (const [index, { key }] of entries.entries()) setOwn(object, key, values[index] ?? null)
  return object
}
