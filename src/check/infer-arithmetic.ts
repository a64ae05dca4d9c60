import { type Hint, write } from "../source/hint.ts"
import { constantOf } from "./constants.ts"
import type * as Syntax from "../syntax/tree.ts"
import { elementType } from "../types/element-type.ts"
import { errorType, integerType, numberType, stringType } from "../types/primitives.ts"
import { isAssignable, isLenient, withoutNull } from "../types/relations.ts"
import type { Type } from "../types/types.ts"
import type { CheckContext } from "./check-context.ts"
import { inferOperand, mustBe, mustBoth } from "./infer-operators.ts"
import { takeNumbers } from "./rules/inexact-integer.ts"
import type { Infer, Scope } from "./scope.ts"

/** `a + b`, `a / b` …; `whole` is the row of `+` that the node is a part of. */
export function inferArithmetic(
  checking: CheckContext,
  node: Syntax.BinaryNode,
  operator: Syntax.Arithmetic,
  scope: Scope,
  infer: Infer,
  whole: Syntax.BinaryNode = node,
): Type {
  const left = inferLeft(checking, node, operator, scope, infer, whole)
  const right = inferOperand(checking, node.right, scope, infer, "computed")
  takeNumbers(checking, node.left, numberType)
  takeNumbers(checking, node.right, numberType)
  const hint = operator === "+" ? sumHint(checking, whole, [left, right]) : undefined
  if (left.kind === "error" || right.kind === "error") return errorType
  if (!mustBoth(checking, node, left, right, numberType, scope, hint)) return errorType
  if (operator === "/" || operator === "%") {
    if (constantOf(node.right) === 0) {
      checking.report("division-by-zero", scope.path, node.right, "Division by zero", "Divide by another number.")
      return errorType
    }
  }
  return operator !== "/" && isInteger(checking, left) && isInteger(checking, right) ? integerType : numberType
}

/** The left side; one that is a sum too knows the whole row, for its hint. */
function inferLeft(
  checking: CheckContext,
  { left }: Syntax.BinaryNode,
  operator: Syntax.Arithmetic,
  scope: Scope,
  infer: Infer,
  whole: Syntax.BinaryNode,
): Type {
  if (operator !== "+" || left.kind !== "binary" || left.operator !== "+")
    return inferOperand(checking, left, scope, infer, "computed")
  const type = inferArithmetic(checking, left, operator, scope, infer, whole)
  checking.expressionTypes.set(left, type)
  return type
}

/** `-a` */
export function inferNegation(
  checking: CheckContext,
  node: Syntax.Expression & { kind: "negate" },
  scope: Scope,
  infer: Infer,
): Type {
  const type = inferOperand(checking, node.operand, scope, infer, "computed")
  takeNumbers(checking, node.operand, numberType)
  if (type.kind === "error") return errorType
  if (!mustBe(checking, node.operand, type, numberType, "`-` takes a number", "0", scope)) return errorType
  return isInteger(checking, type) ? integerType : numberType
}

/** An untyped value may have a fraction. */
function isInteger(checking: CheckContext, type: Type): boolean {
  return !isLenient(type) && isAssignable(type, integerType, checking.types)
}

/** Texts are joined by interpolation, arrays by a function. */
function sumHint(checking: CheckContext, whole: Syntax.BinaryNode, types: readonly Type[]): Hint | undefined {
  const plain = types.map((type) => withoutNull(type, checking.types)).filter((type) => !isLenient(type))
  const isText = (type: Type): boolean => isAssignable(type, stringType, checking.types)
  const isArray = (type: Type): boolean => elementType(type, checking.types) !== undefined
  // `list + "x"` adds an element, `"x" + list` goes on with a text.
  const first = plain.find((type) => isText(type) || isArray(type))
  if (first === undefined) return undefined
  if (isText(first)) {
    const parts = partsOf(whole).map((part) => interpolated(checking, part))
    const joined = `"${parts.join("")}"`
    return write(joined, whole, `Texts are joined by interpolation: \`${joined}\`.`)
  }
  const parts = partsOf(whole).map((part) => {
    const type = withoutNull(checking.expressionTypes.get(part) ?? errorType, checking.types)
    return isLenient(type) || isArray(type) ? checking.quote(part) : `[${checking.quote(part)}]`
  })
  const joined = `concat(${parts.join(", ")})`
  return write(joined, whole, `Arrays are joined by a function: \`${joined}\`.`)
}

function partsOf(node: Syntax.Expression): Syntax.Expression[] {
  return node.kind === "binary" && node.operator === "+" ? [...partsOf(node.left), node.right] : [node]
}

/** A part of a text: what is in the quotes of a string, everything else between braces. */
function interpolated(checking: CheckContext, part: Syntax.Expression): string {
  const written = checking.quote(part)
  return part.kind === "string" && !part.block ? written.slice(1, -1) : `{{ ${written} }}`
}
