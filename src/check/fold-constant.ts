import { compareCodePoints } from "../base/compare-code-points.ts"
import { isJsonObject } from "../base/is-json-object.ts"
import { jsonEqual } from "../base/json-equal.ts"
import type { JsonValue } from "../base/json-value.ts"
import { objectOf } from "../base/ordered-object.ts"
import { isArithmetic } from "../syntax/operator-parser.ts"
import type * as Syntax from "../syntax/tree.ts"
import type { Field } from "../types/types.ts"
import { isValueFunction, type ValueFunctionName } from "./function-table.ts"

/** The value of a constant expression, or why it has none. */
export type Folded =
  | { readonly kind: "value"; readonly value: JsonValue }
  /** Something in it is not written out. */
  | { readonly kind: "open"; readonly node: Syntax.Expression }
  /** It fails when it is computed. */
  | { readonly kind: "wrong"; readonly problem: string }
  /** Functions are not there to compute it, as in a page. */
  | { readonly kind: "later" }

/** Computes a function; the evaluator provides it where it is loaded. Undefined where the call fails. */
export const constantFunctions: {
  apply: ((name: ValueFunctionName, items: readonly JsonValue[]) => JsonValue | undefined) | null
} = { apply: null }

/** Computes an expression of literals, operators and functions. */
export function fold(node: Syntax.Expression): Folded {
  try {
    return { kind: "value", value: valueOf(node) }
  } catch (error) {
    if (error instanceof Unfolded) return error.why
    throw error
  }
}

/** What a field says of its default, where it has one. */
export function defaultOf(node: Syntax.TypeField): Pick<Field, "default" | "hasDefault"> {
  if (node.default === undefined || node.default.kind === "missing-expression") return {}
  const folded = fold(node.default)
  return folded.kind === "value" ? { hasDefault: true, default: folded.value } : { hasDefault: true }
}

class Unfolded extends Error {
  readonly why: Exclude<Folded, { kind: "value" }>

  constructor(why: Exclude<Folded, { kind: "value" }>) {
    super(why.kind)
    this.why = why
  }
}

function fail(problem: string): never {
  throw new Unfolded({ kind: "wrong", problem })
}

function valueOf(node: Syntax.Expression): JsonValue {
  switch (node.kind) {
    case "number":
    case "word":
      return node.value
    case "string":
      return node.texts.reduce((text, piece, at) => {
        const part = node.interpolations[at - 1]
        const value = part === undefined ? "" : valueOf(part)
        return `${text}${typeof value === "string" ? value : JSON.stringify(value)}${piece}`
      })
    case "group":
      return valueOf(node.expression)
    case "array":
      return node.items.map(valueOf)
    case "object":
      return objectOf(node.body.items.map(({ name, value }) => [name.text, valueOf(value)] as const))
    case "default":
      return valueOf(node.left) ?? valueOf(node.right)
    case "not": {
      const value = valueOf(node.operand)
      return typeof value === "boolean" ? !value : fail("`!` takes a boolean")
    }
    case "negate": {
      const value = valueOf(node.operand)
      return typeof value === "number" ? 0 - value : fail("`-` takes a number")
    }
    case "binary":
      return operated(node)
    case "function": {
      const name = node.name.text
      if (!isValueFunction(name) || node.receiver !== undefined) throw new Unfolded({ kind: "open", node })
      const items = node.items.map(valueOf)
      if (constantFunctions.apply === null) throw new Unfolded({ kind: "later" })
      return constantFunctions.apply(name, items) ?? fail(`\`${name}\` fails for these values`)
    }
    default:
      throw new Unfolded({ kind: "open", node })
  }
}

function operated({ operator, left, right }: Syntax.BinaryNode): JsonValue {
  const [a, b] = [valueOf(left), valueOf(right)]
  switch (operator) {
    case "&&":
    case "||":
      if (typeof a !== "boolean" || typeof b !== "boolean") return fail(`\`${operator}\` takes booleans`)
      return operator === "&&" ? a && b : a || b
    case "==":
    case "!=":
      return jsonEqual(a, b, () => undefined) === (operator === "==")
    case "contains":
      if (typeof a === "string" && typeof b === "string") return a.includes(b)
      return Array.isArray(a)
        ? a.some((one) => jsonEqual(one, b, () => undefined))
        : fail("`contains` searches an array")
    case "in":
      if (isJsonObject(b) && typeof a === "string") return Object.hasOwn(b, a)
      return Array.isArray(b) ? b.some((one) => jsonEqual(one, a, () => undefined)) : fail("`in` searches an array")
    default:
      break
  }
  if (isArithmetic(operator)) {
    if (typeof a !== "number" || typeof b !== "number") return fail(`\`${operator}\` takes numbers`)
    const result = { "+": a + b, "-": a - b, "*": a * b, "/": a / b, "%": a % b }[operator]
    if (!Number.isFinite(result)) return fail(b === 0 ? "division by zero" : "the result is too large for a number")
    return result === 0 ? 0 : result
  }
  const isText = typeof a === "string" && typeof b === "string"
  if (!isText && (typeof a !== "number" || typeof b !== "number"))
    return fail(`\`${operator}\` compares numbers or strings`)
  const order = isText ? compareCodePoints(a, b) : Number(a) - Number(b)
  return { "<": order < 0, "<=": order <= 0, ">": order > 0, ">=": order >= 0 }[operator]
}
