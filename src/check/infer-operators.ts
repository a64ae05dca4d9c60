import { type DataOf, type Hint, meantReference, writeDefault } from "../source/hint.ts"
import type * as Syntax from "../syntax/tree.ts"
import { isArithmetic } from "../syntax/operator-parser.ts"
import { booleanType, errorType, numberType, stringType } from "../types/primitives.ts"
import { elementType } from "../types/element-type.ts"
import { membersOf } from "../types/members-of.ts"
import { overlaps } from "../types/overlap.ts"
import { isAssignable, isLenient, nullable, plainType, resolve, union, withoutNull } from "../types/relations.ts"
import { showType } from "../types/show-type.ts"
import type { Type } from "../types/types.ts"
import { inOperand } from "./allowance.ts"
import { wordOrString } from "../syntax/property-of.ts"
import type { CheckContext } from "./check-context.ts"
import { constantOf } from "./constants.ts"
import { firstOf, maxListed, nearAnd } from "./known-list.ts"
import { refuseComparedFile } from "./misplaced-file.ts"
import { isAsset } from "./misplaced-asset.ts"
import { outcomesOf } from "./outcomes-of.ts"
import { narrowed, pathsPresent } from "./narrowing.ts"
import { takeNumbers } from "./rules/inexact-integer.ts"
import type { Infer, Scope } from "./scope.ts"

/** `a && b`, `a == b`, `a contains b` … */
export function inferBinary(checking: CheckContext, node: Syntax.BinaryNode, scope: Scope, infer: Infer): Type {
  const { left, right, operator } = node
  if (operator === "&&" || operator === "||") {
    const choice = operator === "||" ? choiceOf(left) : undefined
    for (const part of choice === undefined ? [] : [choice.left, choice.right])
      inferOperand(checking, part, scope, infer)
    const leftType = choice === undefined ? inferOperand(checking, left, scope, infer) : errorType
    const guarded = narrowed(scope, pathsPresent(left, operator === "&&"))
    const rightType = inferOperand(checking, right, guarded, infer)
    if (choice !== undefined) {
      const [condition, chosen, other] = [choice.left, choice.right, right].map((one) => checking.quote(one))
      const hint = `Write \`match ${condition} { true: ${chosen}, false: ${other} }\`.`
      checking.report("type-mismatch", scope.path, node, "`&&` and `||` choose no values: they take booleans", hint)
      return errorType
    }
    // The parser has reported `&`, `and` and `or`, and what was meant.
    if (checking.textOf(node.sign) !== operator) return errorType
    return mustBoth(checking, node, leftType, rightType, booleanType, scope) ? booleanType : errorType
  }
  if (isComparison(left)) {
    inferChain(checking, node, scope, infer)
    return errorType
  }
  const leftType = inferOperand(checking, left, scope, infer)
  if (isBareText(checking, right, leftType, scope)) return errorType
  const rightType = inferOperand(checking, right, scope, infer)
  if (leftType.kind === "error" || rightType.kind === "error") return errorType
  const comparesNumbers = operator.startsWith("<") || operator.startsWith(">")
  takeNumbers(checking, left, comparesNumbers ? numberType : rightType)
  takeNumbers(checking, right, comparesNumbers ? numberType : leftType)
  if (!checkComparison(checking, node, leftType, rightType, scope)) return errorType
  if (areConstant(node)) {
    constantCondition(checking, node, undefined, "Both sides are written out, so this is always the same", scope)
  }
  return booleanType
}

/** `a && "x"` in `a && "x" || "y"`, which chooses in other languages. */
function choiceOf(node: Syntax.Expression): Syntax.BinaryNode | undefined {
  if (node.kind !== "binary" || node.operator !== "&&") return undefined
  return ["string", "number", "array", "object"].includes(node.right.kind) ? node : undefined
}

/** `input.tier == high`: one of the texts that the left side may be, without its quotes. */
function isBareText(checking: CheckContext, right: Syntax.Expression, left: Type, { path, variables }: Scope): boolean {
  const word = wordOrString(right)
  if (right.kind !== "chain" || word === undefined || variables.has(word)) return false
  const elements = elementType(left, checking.types) ?? left
  if (![...stringsOf(elements, checking)].includes(word)) return false
  const hint = meantReference(`"${word}"`, right)
  checking.report("unknown-reference", path, right, `Unknown reference: ${word}`, hint)
  return true
}

/** False when an operand is wrong, which is reported. */
function checkComparison(
  checking: CheckContext,
  node: Syntax.BinaryNode,
  leftType: Type,
  rightType: Type,
  scope: Scope,
): boolean {
  switch (node.operator) {
    case "==":
    case "!=":
      return checkEquality(checking, node, leftType, rightType, scope)
    case "contains":
      return checkContains(checking, node, leftType, rightType, scope)
    case "in":
      return checkIn(checking, node, leftType, rightType, scope)
    default: {
      const { types } = checking
      const plain = [leftType, rightType].map((type) => withoutNull(type, types))
      const isText = plain.every((type) => isAssignable(type, stringType, types)) && !plain.every(isLenient)
      return mustBoth(checking, node, leftType, rightType, isText ? stringType : numberType, scope)
    }
  }
}

/** Reports operands that are not of the type that the operator takes: both at once where both are wrong. */
export function mustBoth(
  checking: CheckContext,
  node: Syntax.BinaryNode,
  leftType: Type,
  rightType: Type,
  wanted: Type,
  scope: Scope,
  instead?: Hint,
): boolean {
  const { left, right, operator } = node
  const { types } = checking
  const isBoolean = wanted.kind === "boolean"
  const needs = `\`${operator}\` ${isBoolean ? "takes booleans" : isArithmetic(operator) ? "takes numbers" : "compares two numbers or two strings"}`
  const misfits = [leftType, rightType].filter((type) => !isAssignable(withoutNull(type, types), wanted, types))
  const isDefault = operator === "||" && misfits[0] === leftType && nullable(leftType, types)
  if (misfits.length === 2 || isDefault) {
    const hint = isDefault ? `Write \`${checking.quote(left)} ?? ${checking.quote(right)}\`.` : instead
    const found = misfits.map((type) => showType(type)).join(" and ")
    checking.report("type-mismatch", scope.path, node, `${needs}, found ${found}`, hint)
    return false
  }
  const fallback = isBoolean ? "false" : wanted.kind === "string" ? '""' : "0"
  if (instead !== undefined && misfits.length === 1) {
    // Written as the hint says, the other operand is right.
    const wrong = misfits[0] === leftType ? left : right
    checking.report("type-mismatch", scope.path, wrong, `${needs}, found ${showType(misfits[0] ?? errorType)}`, instead)
    return false
  }
  const leftFits = mustBe(checking, left, leftType, wanted, needs, fallback, scope)
  return mustBe(checking, right, rightType, wanted, needs, fallback, scope) && leftFits
}

function isComparison(node: Syntax.Expression): node is Syntax.BinaryNode {
  return node.kind === "binary" && node.operator !== "&&" && node.operator !== "||" && !isArithmetic(node.operator)
}

/** `a < b < c` is a syntax error: the operands are checked, the comparisons are not. */
function inferChain(checking: CheckContext, node: Syntax.BinaryNode, scope: Scope, infer: Infer): void {
  if (isComparison(node.left)) inferChain(checking, node.left, scope, infer)
  else inferOperand(checking, node.left, scope, infer)
  inferOperand(checking, node.right, scope, infer)
}

/** `!a` */
export function inferNot(
  checking: CheckContext,
  node: Syntax.Expression & { kind: "not" },
  scope: Scope,
  infer: Infer,
): Type {
  // The parser has reported `not`.
  if (checking.tree.text[node.start] !== "!") {
    inferOperand(checking, node.operand, scope, infer)
    return errorType
  }
  return inferBoolean(checking, node.operand, scope, infer, "!") ? booleanType : errorType
}

/** A repetition must have this condition. */
export const placeOfUntil = "the `until` of a repetition"

/** The condition of a declaration. */
export function inferCondition(checking: CheckContext, node: Syntax.Expression, scope: Scope, infer: Infer): void {
  inferBoolean(checking, node, scope, infer, "when")
  const constant = constantOf(node)
  if (typeof constant === "boolean") {
    constantCondition(checking, node, constant, `This condition is always ${String(constant)}`, scope)
  }
}

function inferBoolean(
  checking: CheckContext,
  node: Syntax.Expression,
  scope: Scope,
  infer: Infer,
  operator: string,
): boolean {
  const type = inferOperand(checking, node, scope, infer)
  if (type.kind === "error") return false
  const needs = operator === "when" ? "A condition is a boolean" : `\`${operator}\` takes booleans`
  return mustBe(checking, node, type, booleanType, needs, "false", scope)
}

/** The type of an operand; an asset cannot be one, which is reported. */
export function inferOperand(
  checking: CheckContext,
  node: Syntax.Expression,
  scope: Scope,
  infer: Infer,
  how: "compared" | "computed" = "compared",
): Type {
  // An asset is not allowed either, but the check of its type reports it, once.
  const type = infer(checking, node, { ...inOperand(scope, how), assets: "value" })
  if (isSecret(checking, node)) return errorType
  if (!isAsset(checking, type)) return type
  const hint = "Use something else, such as the text that it is made from."
  checking.report("type-mismatch", scope.path, node, "An operator takes no asset", hint)
  return errorType
}

/** A secret cannot be an operand, which is reported where it is read. */
export function isSecret(checking: CheckContext, node: Syntax.Expression): boolean {
  return outcomesOf(node).some((one) => one.kind === "chain" && checking.roots.get(one)?.kind === "secrets")
}

/** Reports an operand that is not of the type that its operator takes, or may be null. True when it is right. */
export function mustBe(
  checking: CheckContext,
  node: Syntax.Expression,
  type: Type,
  wanted: Type,
  needs: string,
  fallback: string,
  scope: Scope,
): boolean {
  const { types } = checking
  const plain = withoutNull(type, types)
  if (!isAssignable(plain, wanted, types)) {
    const hint = wanted.kind === "boolean" ? testFor(checking, node, type) : undefined
    checking.report("type-mismatch", scope.path, node, `${needs}, found ${showType(type)}`, hint)
    return false
  }
  if (!nullable(type, types)) return true
  mayBeNull(checking, node, fallback, scope)
  return false
}

function mayBeNull(checking: CheckContext, node: Syntax.Expression, fallback: string, scope: Scope): void {
  const written = checking.quote(node)
  const hint = writeDefault(written, fallback)
  checking.report("nullable-access", scope.path, node, `\`${written}\` may be null`, hint)
}

/** There is no truthiness: the question that was probably meant. */
function testFor(
  checking: CheckContext,
  node: Syntax.Expression,
  type: Type,
): Hint<DataOf<"type-mismatch">> | undefined {
  const written = checking.quote(node)
  const isCut = written.endsWith("…")
  const compare = (test: string, what = "Compare it"): Hint<DataOf<"type-mismatch">> => {
    const text = `${what}: \`${written} ${test}\`.`
    return isCut ? text : { text, data: { kind: "test", text: `${written} ${test}` } }
  }
  if (nullable(type, checking.types)) return compare("!= null", "Ask whether it is there")
  const { kind } = resolve(type, checking.types)
  if (kind === "string" || kind === "literal") return compare('!= ""')
  if (kind === "enum") return `Compare it: \`${written} == "…"\`.`
  return kind === "number" || kind === "integer" ? compare("!= 0") : undefined
}

// ----------------------------------------------------------------------------------------------------- comparisons

/** False when the two can never be equal, which is reported. */
function checkEquality(
  checking: CheckContext,
  node: Syntax.BinaryNode,
  left: Type,
  right: Type,
  scope: Scope,
): boolean {
  checking.fit(left, right)
  const isWithNull = left.kind === "null" || right.kind === "null"
  if (!isWithNull && refuseComparedFile(checking, node, [left, right], scope.path)) return false
  if (isWithNull) {
    const [tested, type] = right.kind === "null" ? [node.left, left] : [node.right, right]
    neverNull(checking, node, tested, type, scope)
    return true
  }
  if (!overlaps(exactType(checking, node.left), exactType(checking, node.right), checking.types)) {
    const message = `These can never be equal: ${showType(left)} and ${showType(right)}`
    checking.report("type-mismatch", scope.path, misfit(node), message, nearest(checking, node, left, right))
    return false
  }
  if (left.kind === "literal" && right.kind === "literal" && !areConstant(node)) {
    const always = node.operator === "=="
    const message = `Both sides are always ${showType(left)}, so this is always ${String(always)}`
    constantCondition(checking, node, always, message, scope)
  }
  return true
}

function areConstant({ left, right }: Syntax.BinaryNode): boolean {
  return constantOf(left) !== undefined && constantOf(right) !== undefined
}

/** `x == null` where `x` is never null. */
function neverNull(
  checking: CheckContext,
  node: Syntax.BinaryNode,
  tested: Syntax.Expression,
  type: Type,
  scope: Scope,
): void {
  if (isLenient(type) || areConstant(node)) return
  const always = (node.operator === "==") === (type.kind === "null")
  const written = checking.quote(tested)
  if (type.kind === "null") {
    constantCondition(
      checking,
      node,
      always,
      `\`${written}\` is always null, so this is always ${String(always)}`,
      scope,
    )
  } else if (!nullable(type, checking.types)) {
    constantCondition(
      checking,
      node,
      always,
      `\`${written}\` is never null, so this is always ${String(always)}`,
      scope,
    )
  }
}

function constantCondition(
  checking: CheckContext,
  node: Syntax.Expression,
  value: boolean | undefined,
  message: string,
  scope: Scope,
): void {
  const text = scope.place === placeOfUntil ? "Compare something else." : "Remove it, or compare something else."
  const hint = value === undefined ? text : ({ text, data: { kind: "always", value } } as const)
  checking.report("constant-condition", scope.path, node, message, hint)
}

/** Which side to show: the one that is written out, where only one is. */
function misfit({ left, right, ...node }: Syntax.BinaryNode): Syntax.Expression {
  const isLeft = constantOf(left) !== undefined
  const isRight = constantOf(right) !== undefined
  if (isLeft === isRight) return { ...node, left, right }
  return isRight ? right : left
}

/** The string of an enum that was probably meant. */
function nearest(checking: CheckContext, node: Syntax.BinaryNode, left: Type, right: Type): Hint | undefined {
  const [written, type] =
    right.kind === "literal" ? [right.value, left] : left.kind === "literal" ? [left.value, right] : []
  if (written === undefined || type === undefined) return mayNeedText(node, left, right)
  const strings = function* (): Generator<string> {
    for (const value of stringsOf(type, checking)) yield JSON.stringify(value)
  }
  const shown = firstOf(strings(), maxListed)
  if (shown.length === 0) return undefined
  const near = checking.suggest(written, stringsOf(type, checking))
  const list = `It is one of ${shown.join(", ")}${shown.length === maxListed ? ", …" : ""}.`
  return nearAnd(near && JSON.stringify(near), list)
}

function mayNeedText(node: Syntax.BinaryNode, left: Type, right: Type): string | undefined {
  const isNumber = ({ kind }: Type) => kind === "number" || kind === "integer"
  if (node.operator === "contains") return undefined
  return (left.kind === "string" && isNumber(right)) || (right.kind === "string" && isNumber(left))
    ? `A number is written into text with braces: \`"{{ … }}" ${node.operator} …\`.`
    : undefined
}

/** One after the other, as far as they are asked for: a type may have very many. */
function* stringsOf(type: Type, checking: CheckContext): Generator<string> {
  for (const member of membersOf(type, checking.types)) {
    if (member.kind === "literal") yield member.value
    else if (member.kind === "enum") yield* member.values
  }
}

/** An array literal has as many elements as are written. */
function exactType(checking: CheckContext, node: Syntax.Expression): Type {
  switch (node.kind) {
    case "group":
      return exactType(checking, node.expression)
    case "array":
      return { kind: "tuple", elements: node.items.map((item) => exactType(checking, item)) }
    case "object":
      return {
        kind: "record",
        fields: node.body.items.map(({ name, value }) => ({ name: name.text, type: exactType(checking, value) })),
      }
    default:
      return checking.expressionTypes.get(node) ?? errorType
  }
}

// -------------------------------------------------------------------------------------------------------- contains

/** False when an operand is wrong, which is reported. */
function checkContains(
  checking: CheckContext,
  node: Syntax.BinaryNode,
  left: Type,
  right: Type,
  scope: Scope,
): boolean {
  const { types } = checking
  const holder = plainType(left, types)
  const members = membersOf(holder, types).map((member) => resolve(member, types))
  const elements = members.map((member) => elementType(member, types))
  const isText = members.every((member) => isAssignable(member, stringType, types))
  if (!isText && elements.some((element) => element === undefined)) {
    const message = `\`contains\` searches a string or an array, found ${showType(left)}`
    checking.report("type-mismatch", scope.path, node.left, message)
    return false
  }
  if (nullable(left, types)) mayBeNull(checking, node.left, isText ? '""' : "[]", scope)
  if (isLenient(holder)) return true
  if (isText) return mustBe(checking, node.right, right, stringType, "A string is searched for a string", '""', scope)
  const element = union(elements.filter((one) => one !== undefined))
  if (refuseComparedFile(checking, node, [element, right], scope.path)) return false
  checking.fit(right, element)
  if (nullable(right, types) && !nullable(element, types) && element.kind !== "any") {
    const written = checking.quote(node.right)
    const never = `no element of \`${checking.quote(node.left)}\` is`
    const message =
      right.kind === "null" ? `Null is searched, and ${never}` : `\`${written}\` may be null, and ${never}`
    const hint = right.kind === "null" ? "Search for another value." : `Give a default: \`${written} ?? …\`.`
    checking.report("nullable-access", scope.path, node.right, message, hint)
    return false
  }
  if (!overlaps(exactType(checking, node.right), element, types)) {
    const message = `No element can be equal to this: they are ${showType(element)}, found ${showType(right)}`
    checking.report("type-mismatch", scope.path, node.right, message, nearest(checking, node, element, right))
    return false
  }
  return true
}

// -------------------------------------------------------------------------------------------------------------- in

/** False when an operand is wrong, which is reported. */
function checkIn(checking: CheckContext, node: Syntax.BinaryNode, left: Type, right: Type, scope: Scope): boolean {
  const { types } = checking
  const holder = plainType(right, types)
  const isKeys = holder.kind === "object" || holder.kind === "map"
  const element = elementType(holder, types)
  if (!isKeys && element === undefined) {
    const isText = isAssignable(holder, stringType, types) && isAssignable(withoutNull(left, types), stringType, types)
    const instead = `${checking.quote(node.right)} contains ${checking.quote(node.left)}`
    const message = `\`in\` searches an array, or the keys of a map or an object, found ${showType(right)}`
    checking.report("type-mismatch", scope.path, node.right, message, isText ? `Write \`${instead}\`.` : undefined)
    return false
  }
  if (nullable(right, types)) {
    mayBeNull(checking, node.right, isKeys ? "{ }" : "[]", scope)
    return false
  }
  if (isKeys) return mustBe(checking, node.left, left, stringType, "A key is a string", '""', scope)
  if (element === undefined || isLenient(element)) return true
  if (refuseComparedFile(checking, node, [left, element], scope.path)) return false
  checking.fit(left, element)
  if (overlaps(exactType(checking, node.left), element, types)) return true
  const message = `No element can be equal to this: they are ${showType(element)}, found ${showType(left)}`
  checking.report("type-mismatch", scope.path, node.left, message, nearest(checking, node, element, left))
  return false
}
