import { remembered } from "../base/remembered.ts"
import { isFileFunction } from "../check/function-table.ts"
import type { ApprovalPlan, AssetExpression, Entry, Expression, ListExpression, Root } from "./expression.ts"

/** What the engine wants to know of an expression before it evaluates it. */
export interface Traits {
  /** Without `call`, `repeat`, `read` and `render`. */
  readonly pure: boolean
  /** How many calls of code are written in it, those in functions included. */
  readonly code: number
  /** Has a list from a list in it. */
  readonly lists: boolean
  /** May take long: it has a list, or calls code. */
  readonly loops: boolean
  readonly secrets: boolean
  /** Refers to the agent's own values, so that it can differ from one iteration to the next. */
  readonly local: boolean
  /** Refers to nothing but `input` and `secrets`: known before the run. */
  readonly known: boolean
  /** Refers to `run`. */
  readonly run: boolean
  /** Asks why a step failed. */
  readonly failures: boolean
}

// Plans are kept and run again and again; each expression is looked at once.
const seen = new WeakMap<Expression, Traits>()

export function traits(expression: Expression): Traits {
  const { op } = expression
  // Most of a large plan is these. All that refer to the same kind of value have the same traits.
  if (op === "literal") return remembered(leaves, null, leafTraits)
  if (op === "reference") return remembered(leaves, expression.root.kind, leafTraits)
  const before = seen.get(expression)
  if (before !== undefined) return before
  const parts = children(expression).map(traits)
  const pure = !effectOps.has(op) && parts.every((part) => part.pure)
  const code = parts.reduce((sum, part) => sum + part.code, op === "own-function" ? (expression.code ?? 0) : 0)
  const lists = op === "list" || (op === "own-function" && expression.loops) || parts.some((part) => part.lists)
  const withFiles = op === "function" && isFileFunction(expression.name)
  const found: Traits = {
    pure,
    code,
    lists,
    loops: lists || code > 0,
    secrets: parts.some((part) => part.secrets),
    local: parts.some((part) => part.local),
    known:
      pure &&
      !(op === "own-function" && expression.code !== undefined) &&
      !withFiles &&
      parts.every((part) => part.known),
    run: parts.some((part) => part.run),
    failures: op === "failure" || parts.some((part) => part.failures),
  }
  seen.set(expression, found)
  return found
}

/** By what an expression refers to; null for a literal. */
const leaves = new Map<Root["kind"] | null, Traits>()

function leafTraits(root: Root["kind"] | null): Traits {
  return {
    pure: true,
    code: 0,
    lists: false,
    loops: false,
    secrets: root === "secrets",
    local: root === "local" || root === "variable",
    known: root === null || knownRoots.has(root),
    run: root === "run",
    failures: false,
  }
}

const effectOps: ReadonlySet<Expression["op"]> = new Set<Expression["op"]>(["call", "call-workflow", "read", "render"])

const knownRoots: ReadonlySet<Root["kind"]> = new Set<Root["kind"]>(["input", "secrets", "matched", "item"])

/** The expressions directly inside one, in the order of the source. */
export function children(expression: Expression): readonly Expression[] {
  switch (expression.op) {
    case "literal":
    case "reference":
      return []
    case "text":
      return expression.parts.filter((part) => typeof part !== "string")
    case "array":
    case "function":
    case "own-function":
      return expression.items
    case "list": {
      const { loop, when, by, value } = expression
      return [loop.items, ...(when === null ? [] : [when]), ...(by === null ? [] : [by.key]), value]
    }
    case "object":
      return values(expression.entries)
    case "chain":
      return [expression.base]
    case "default":
    case "binary":
    case "arithmetic":
      return [expression.left, expression.right]
    case "failure":
      return [expression.of]
    case "not":
    case "negate":
      return [expression.value]
    case "match":
      return [expression.value, ...expression.branches.map((branch) => branch.value)]
    case "call":
      return [...values(expression.input), ...values(expression.bindings), ...approvalParts(expression.approval)]
    case "call-workflow": {
      const { input, repeat } = expression
      const again = repeat === undefined ? [] : [repeat.until, ...values(repeat.next)]
      return [...values(input), ...approvalParts(expression.approval), ...again]
    }
    case "read":
    case "render":
      return values(expression.bindings)
    case "asset":
      return assetParts(expression).filter((part) => part !== null)
  }
}

/** The outermost list in an expression that calls for each of its items; null where none does. */
export function callingList(expression: Expression): ListExpression | null {
  if (expression.op === "list" && !traits(expression.value).pure) return expression
  for (const part of traits(expression).pure ? [] : children(expression)) {
    const found = callingList(part)
    if (found !== null) return found
  }
  return null
}

const counted = new WeakMap<Expression, number>()

/** How many expressions are evaluated for one, at most; the inside of a list counts when the list's length is known. */
export function nodeCount(expression: Expression): number {
  return remembered(counted, expression, () => {
    const parts = expression.op === "list" ? [expression.loop.items] : children(expression)
    return parts.reduce((sum, part) => sum + nodeCount(part), 1)
  })
}

/** What an asset is made of, in the order of its options. */
export function assetParts(asset: AssetExpression): readonly (Expression | null)[] {
  return [asset.value, asset.media_type, asset.title, asset.context, asset.citations]
}

/** What an approval is asked with. */
export function approvalParts(approval: ApprovalPlan | null | undefined): Expression[] {
  const { question, show, to } = approval ?? {}
  return [question, show, to].filter((one) => one !== undefined && one !== null)
}

function values(entries: readonly Entry[]): Expression[] {
  return entries.map((entry) => entry.value)
}
