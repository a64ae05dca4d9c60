import { compareCodePoints } from "../../base/compare-code-points.ts"
import { containsText } from "../../base/contains-text.ts"
import { isJsonObject } from "../../base/is-json-object.ts"
import { elementWork, jsonEqual } from "../../base/json-equal.ts"
import type { JsonValue } from "../../base/json-value.ts"
import type { ArithmeticExpression, BinaryExpression } from "../../plan/expression.ts"
import type { Scope } from "./scope.ts"

/** An operand that its operator does not take: only an untyped value can be one. */
export interface WrongOperand {
  readonly need: string
  readonly found: JsonValue
}

/** What the left side of `&&` or `||` decides alone; null where the right side is needed, and for other operators. */
export function decidedByLeft(operator: BinaryExpression["operator"], left: JsonValue): boolean | WrongOperand | null {
  if (operator !== "&&" && operator !== "||") return null
  if (typeof left !== "boolean") return { need: `${operator} takes booleans`, found: left }
  return left === (operator === "||") ? left : null
}

/** The result of an operator whose both sides are known; the left side of `&&` and `||` has not decided. Counts its work before it is done. */
export function operate(
  operator: BinaryExpression["operator"],
  left: JsonValue,
  right: JsonValue,
  scope: Pick<Scope, "work" | "path">,
): boolean | WrongOperand {
  switch (operator) {
    case "&&":
    case "||":
      return typeof right === "boolean" ? right : { need: `${operator} takes booleans`, found: right }
    case "==":
      return jsonEqual(left, right, spender(scope))
    case "!=":
      return !jsonEqual(left, right, spender(scope))
    case "contains":
      return contains(left, right, spender(scope))
    case "in":
      if (Array.isArray(right)) return contains(right, left, spender(scope))
      if (!isJsonObject(right)) return { need: "in searches an array or an object", found: right }
      return typeof left === "string"
        ? Object.hasOwn(right, left)
        : { need: "in searches an object for a string", found: left }
    default:
      if (typeof left === "string" && typeof right === "string") {
        spender(scope)(perCompared * Math.min(left.length, right.length))
        return isInOrder(operator, compareCodePoints(left, right), 0)
      }
      if (typeof left !== "number") return { need: `${operator} compares two numbers or two strings`, found: left }
      if (typeof right !== "number") return { need: `${operator} compares two numbers or two strings`, found: right }
      return isInOrder(operator, left, right)
  }
}

/** Comparing a character takes as long as copying this many. */
const perCompared = 6

function spender({ work, path }: Pick<Scope, "work" | "path">): (amount: number) => void {
  return (amount) => work.spend(amount, path)
}

/** The result of arithmetic, or in words what is wrong with it. */
export function compute(
  operator: ArithmeticExpression["operator"],
  left: JsonValue,
  right: JsonValue,
  integer: boolean,
): number | string | WrongOperand {
  if (typeof left !== "number") return { need: `${operator} takes numbers`, found: left }
  if (typeof right !== "number") return { need: `${operator} takes numbers`, found: right }
  if (right === 0 && (operator === "/" || operator === "%")) return "division by zero"
  return exact(calculated(operator, left, right), integer)
}

function calculated(operator: ArithmeticExpression["operator"], left: number, right: number): number {
  switch (operator) {
    case "+":
      return left + right
    case "-":
      return left - right
    case "*":
      return left * right
    case "/":
      return left / right
    case "%":
      return left % right
  }
}

/** A number that a value may be, or in words why it cannot be. */
export function exact(result: number, integer: boolean): number | string {
  if (!Number.isFinite(result)) return "the result is too large for a number"
  if (integer && !Number.isSafeInteger(result)) {
    return `the result is not an exact integer: they go from -${Number.MAX_SAFE_INTEGER} to ${Number.MAX_SAFE_INTEGER}`
  }
  // Never -0.
  return result === 0 ? 0 : result
}

function contains(holder: JsonValue, wanted: JsonValue, spend: (work: number) => void): boolean | WrongOperand {
  if (Array.isArray(holder)) {
    spend(holder.length * elementWork)
    return holder.some((element) => jsonEqual(element, wanted, spend))
  }
  if (typeof holder !== "string") return { need: "contains searches a string or an array", found: holder }
  if (typeof wanted !== "string") return { need: "contains searches a string for a string", found: wanted }
  spend(holder.length * (wanted.length > 64 ? 8 : 1))
  return containsText(holder, wanted)
}

function isInOrder(operator: "<" | "<=" | ">" | ">=", left: number, right: number): boolean {
  switch (operator) {
    case "<":
      return left < right
    case "<=":
      return left <= right
    case ">":
      return left > right
    case ">=":
      return left >= right
  }
}
