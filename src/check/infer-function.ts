import { type Hint, write, writeDefault } from "../source/hint.ts"
import { mapPairs } from "../syntax/map-pairs.ts"
import { mixedHint } from "../syntax/object-parser.ts"
import type * as Syntax from "../syntax/tree.ts"
import { elementType } from "../types/element-type.ts"
import { fieldType } from "../types/field-type.ts"
import { membersOf } from "../types/members-of.ts"
import { errorType, integerType, numberType, stringType } from "../types/primitives.ts"
import { isAssignable, isLenient, nullable, resolve, withoutLiterals, withoutNull } from "../types/relations.ts"
import { showType } from "../types/show-type.ts"
import type { Type } from "../types/types.ts"
import { inOperand } from "./allowance.ts"
import type { CheckContext } from "./check-context.ts"
import { inferRounds } from "./infer-rounds.ts"
import { reportUnknownFunction } from "./foreign-functions.ts"
import type { Fit, Taken } from "./function-table.ts"
import { functionRow, isFileFunction, isFunction, resultType, takenAt, takesCount, text } from "./function-table.ts"
import { inferFailure } from "./infer-failure.ts"
import { isSecret } from "./infer-operators.ts"
import { isAsset } from "./misplaced-asset.ts"
import { refuseComparedFile, refuseFileInText } from "./misplaced-file.ts"
import { fixFor, mustFit } from "./must-fit.ts"
import type { FunctionSymbol, LoopVariable } from "./program.ts"
import { takeNumbers } from "./rules/inexact-integer.ts"
import type { Infer, Scope } from "./scope.ts"
import { isStepFunction } from "./step-functions.ts"
import { checkWritten } from "./written-arguments.ts"
import { wrongCount } from "./wrong-count.ts"

/** `name(item, …)` */
export function inferFunction(checking: CheckContext, node: Syntax.FunctionNode, scope: Scope, infer: Infer): Type {
  const name = node.name.text
  const own = node.receiver === undefined && node.form === undefined ? checking.functions.get(name) : undefined
  if (own !== undefined) return inferOwn(checking, node, own, scope, infer)
  if (node.receiver === undefined && isCalledUnknown(checking, node)) {
    for (const item of node.items) inferItem(checking, item, scope, infer)
    return errorType
  }
  if (node.receiver === undefined && isStepFunction(name))
    return inferRounds(checking, node, inOperand(scope, "computed"), infer)
  if (node.receiver !== undefined || !isFunction(name)) {
    reportUnknownFunction(checking, node, scope, infer)
    return errorType
  }
  if (name === "failure") return inferFailure(checking, node, scope, infer)
  const isRead = name === "text_of" && scope.readsFiles === true
  if (isFileFunction(name) && !isRead && (scope.values !== "run" || scope.withoutCode === true)) {
    const message = `\`${name}\` stores or reads a file, which is not allowed in ${scope.place}`
    checking.report("misplaced-expression", scope.path, node, message, "Call it in a step of the workflow.")
  }
  const types = node.items.map((item) => inferItem(checking, item, scope, infer))
  // The parser reported what it could not read.
  if (node.items.some(({ kind }) => kind === "missing-expression")) return errorType
  if (node.mixed !== undefined) {
    const message = "Names and computed keys are not mixed in one object"
    checking.report("mixed-keys", scope.path, node.mixed, message, mixedHint)
    return errorType
  }
  for (const { key } of mapPairs(node)) {
    const type = checking.expressionTypes.get(key) ?? errorType
    if (!mustTake(checking, key, type, text, "[key]", scope)) return errorType
  }
  const row = functionRow(name)
  if (!takesCount(row, node.items.length)) {
    if (!checking.skipped.hasError(node)) wrongCount(checking, node, row, scope, infer)
    return errorType
  }
  const [first = errorType] = types
  let fits = true
  for (const [at, item] of node.items.entries()) {
    const taken = takenAt(row, at, first, checking.types)
    const type = types[at] ?? errorType
    if (writesText(name) && refuseFileInText(checking, item, type, { path: scope.path, assets: "none" }))
      return errorType
    if (comparesValues(name) && refuseComparedFile(checking, item, [keyType(checking, types, name)], scope.path)) {
      return errorType
    }
    if (!mustTake(checking, item, types[at] ?? errorType, taken, node.form === "spread" ? "..." : name, scope))
      fits = false
    else if (taken.written !== undefined && fits) {
      const list = { node: node.items[0] ?? item, type: first }
      fits = checkWritten(checking, item, taken.written, list, scope)
    }
  }
  const isUnknown = (type: Type): boolean =>
    type.kind === "error" || (type.kind === "record" && checking.incomplete.has(type))
  if (!fits || types.some(isUnknown)) return errorType
  return resultType(row, types, checking.types)
}

function writesText(name: string): boolean {
  return name === "text" || name === "json"
}

function comparesValues(name: string): boolean {
  return name === "unique" || name === "group_by" || name === "count_by"
}

/** What `unique` compares, and what `group_by` and `count_by` make keys of. */
function keyType(checking: CheckContext, [list = errorType, named]: readonly Type[], name: string): Type {
  const element = elementType(list, checking.types) ?? errorType
  if (name === "unique") return element
  return (named?.kind === "literal" ? fieldType(element, named.value, checking.types) : undefined) ?? errorType
}

/** Whether the function is one of one's own of which no more is known: a mistake in it was reported. */
function isCalledUnknown(checking: CheckContext, { name }: Syntax.FunctionNode): boolean {
  if (isFunction(name.text)) return false
  if (!checking.functionNodes.has(name.text)) return checking.skipped.isSwallowed("function", name.text)
  checking.refer(`function.${name.text}`, name)
  return true
}

/** A call of a function of one's own. */
function inferOwn(
  checking: CheckContext,
  node: Syntax.FunctionNode,
  { name, variables, declaration, result, usesCode }: FunctionSymbol,
  scope: Scope,
  infer: Infer,
): Type {
  checking.refer(`function.${name.text}`, node.name)
  if (usesCode && (scope.values !== "run" || scope.withoutCode === true)) {
    const message = `\`${name.text}\` is computed by code, which is not allowed in ${scope.place}`
    checking.report("misplaced-expression", scope.path, node, message, "Code runs in the steps of a run alone.")
  }
  for (const item of node.items) inferItem(checking, item, scope, infer)
  const { parameters } = declaration
  if (node.items.some(({ kind }) => kind === "missing-expression")) return result
  if (node.items.length !== parameters.length) {
    if (checking.skipped.hasError(node)) return result
    const count = node.items.length
    const message = `\`${name.text}\` does not take ${count === 1 ? "1 argument" : `${count} arguments`}`
    checking.report(
      "wrong-arguments",
      scope.path,
      node,
      message,
      `The form is \`${showFunction(name.text, variables)}\`.`,
    )
    return result
  }
  for (const [at, { name: parameter }] of parameters.entries()) {
    const item = node.items[at]
    const type = variables.get(parameter.text)?.type
    if (item !== undefined && type !== undefined)
      argumentMustFit(checking, item, type, `\`${parameter.text}\` of \`${name.text}\``, scope)
  }
  return result
}

/** `net(amount: number, rate: number)` */
export function showFunction(name: string, variables: ReadonlyMap<string, LoopVariable>): string {
  const parameters = [...variables].map(([parameter, { type }]) => `${parameter}: ${showType(type)}`)
  return `${name}(${parameters.join(", ")})`
}

/** Reports the part of a written-out argument that does not fit. */
function argumentMustFit(
  checking: CheckContext,
  node: Syntax.Expression,
  type: Type,
  what: string,
  scope: Scope,
): void {
  const found = checking.expressionTypes.get(node) ?? errorType
  const isWritten = node.kind === "array" || node.kind === "object" || node.kind === "list" || node.kind === "number"
  if (isWritten || isAssignable(found, type, checking.types)) return mustFit(checking, node, type, scope.path)
  const message = `${what} is ${showType(type)}, found ${showType(found)}`
  checking.report("type-mismatch", scope.path, node, message, fixFor(checking, node, found, type))
}

/** The type of an argument. An array that is written out has a known length. */
function inferItem(checking: CheckContext, node: Syntax.Expression, scope: Scope, infer: Infer): Type {
  // An asset is not allowed either, but the check of its type reports it, once.
  const type = infer(checking, node, { ...inOperand(scope, "computed"), assets: "value" })
  if (isSecret(checking, node)) return errorType
  if (isAsset(checking, type)) {
    const hint = "Use something else, such as the text that it is made from."
    checking.report("type-mismatch", scope.path, node, "A function takes no asset", hint)
    return errorType
  }
  return writtenType(checking, node, type)
}

function writtenType(checking: CheckContext, node: Syntax.Expression, type: Type): Type {
  if (node.kind === "group") return writtenType(checking, node.expression, type)
  if (node.kind !== "array" || isLenient(type)) return type
  const elements = node.items.map((item) => checking.expressionTypes.get(item) ?? errorType)
  return { kind: "tuple", elements: elements.length > 1 ? elements.map(withoutLiterals) : elements }
}

/** Reports an argument that the function does not take. True when it is right. */
function mustTake(
  checking: CheckContext,
  node: Syntax.Expression,
  type: Type,
  taken: Taken,
  name: string,
  scope: Scope,
): boolean {
  if (taken.numbers !== undefined) takeNumbers(checking, node, taken.numbers)
  if (type.kind === "error") return false
  if (taken.anything === true) return true
  const { types } = checking
  const written = checking.quote(node)
  const fit = fitOf(withoutNull(type, types), taken, checking)
  if (fit === false) {
    const hint = conversion(checking, written, withoutNull(type, types), taken, name)
    checking.report(
      "type-mismatch",
      scope.path,
      node,
      `\`${name}\` takes ${taken.words}, found ${showType(type)}`,
      hint,
    )
    return false
  }
  if (nullable(type, types)) {
    const hint = taken.fallback === undefined ? "Give a default with `??`." : writeDefault(written, taken.fallback)
    checking.report("nullable-access", scope.path, node, `\`${written}\` may be null`, hint)
    return false
  }
  if (fit === true) return true
  const others = `[x for x in ${written} when x != null]`
  const hint = write(others, undefined, `Leave them out: \`${others}\`.`)
  checking.report("nullable-access", scope.path, node, `Elements of \`${written}\` may be null`, hint)
  return false
}

/** A union fits if every member does. */
function fitOf(type: Type, taken: Taken, { types }: CheckContext): Fit {
  if (isLenient(type)) return true
  const members = membersOf(type, types)
  if (taken.single === true && members.length > 1) return false
  const fits = members.map((member) => taken.fits(resolve(member, types), types))
  return fits.includes(false) ? false : fits.includes("nulls") ? "nulls" : true
}

/** The function that makes what is needed, where there is one. */
function conversion(checking: CheckContext, written: string, type: Type, taken: Taken, name: string): Hint | undefined {
  const { types } = checking
  const isText = isAssignable(type, stringType, types)
  if ((name === "concat" || name === "...") && isText) return 'Texts are joined by interpolation: `"{{ … }}{{ … }}"`.'
  if (taken.numbers === integerType && isAssignable(type, numberType, types)) return write(`round(${written})`)
  if (taken.numbers === numberType && isText) return write(`number(${written}) ?? 0`)
  if (taken.numbers === stringType && !isText) return write(`text(${written})`)
  return undefined
}
