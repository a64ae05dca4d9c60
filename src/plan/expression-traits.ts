import type { AssetExpression, Entry, Expression } from "./expression.ts"

/** What the engine wants to know of an expression before it evaluates it. */
export interface Traits {
  /** Without `call`, `read` and `render`: evaluated in one go. */
  readonly pure: boolean
  readonly secrets: boolean
  /** Refers to the agent's own values, so that it can differ from one iteration to the next. */
  readonly local: boolean
  /** Refers to nothing but `input` and `secrets`: known before the run. */
  readonly known: boolean
}

// Plans are kept and run again and again; each expression is looked at once.
const seen = new WeakMap<Expression, Traits>()

export function traits(expression: Expression): Traits {
  const before = seen.get(expression)
  if (before !== undefined) return before
  const parts = children(expression).map(traits)
  const { op } = expression
  const root = op === "reference" ? expression.root.kind : null
  const pure = op !== "call" && op !== "read" && op !== "render" && parts.every((part) => part.pure)
  const found: Traits = {
    pure,
    secrets: root === "secrets" || parts.some((part) => part.secrets),
    local: root === "local" || root === "variable" || parts.some((part) => part.local),
    known:
      pure &&
      (root === null || root === "input" || root === "secrets" || root === "matched") &&
      parts.every((part) => part.known),
  }
  seen.set(expression, found)
  return found
}

/** The expressions directly inside one, in the order of the source. */
export function children(expression: Expression): readonly Expression[] {
  switch (expression.op) {
    case "literal":
    case "reference":
      return []
    case "text":
      return expression.parts.filter((part) => typeof part !== "string")
    case "array":
      return expression.items
    case "object":
      return values(expression.entries)
    case "chain":
      return [expression.base]
    case "default":
    case "binary":
    case "arithmetic":
      return [expression.left, expression.right]
    case "not":
    case "negate":
      return [expression.value]
    case "match":
      return [expression.value, ...expression.branches.map((branch) => branch.value)]
    case "call":
      return [...values(expression.input), ...values(expression.bindings), ...approverOf(expression)]
    case "read":
    case "render":
      return values(expression.bindings)
    case "asset":
      return assetParts(expression).filter((part) => part !== null)
  }
}

/** What an asset is made of, in the order of its options. */
export function assetParts(asset: AssetExpression): readonly (Expression | null)[] {
  return [asset.value, asset.media_type, asset.title, asset.context, asset.citations]
}

function approverOf({ approval }: Extract<Expression, { op: "call" }>): Expression[] {
  return approval === null || approval.to === null ? [] : [approval.to]
}

function values(entries: readonly Entry[]): Expression[] {
  return entries.map((entry) => entry.value)
}
