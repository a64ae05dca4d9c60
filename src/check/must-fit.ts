import { type Hint, write } from "../source/hint.ts"
import { mapPairs } from "../syntax/map-pairs.ts"
import type * as Syntax from "../syntax/tree.ts"
import type { CheckContext } from "./check-context.ts"
import { errorType } from "../types/primitives.ts"
import { fieldNamed } from "../types/field-named.ts"
import { knownList } from "./known-list.ts"
import { inexactInteger, takeNumbers } from "./rules/inexact-integer.ts"
import { refuseAsset } from "./misplaced-asset.ts"
import {
  caseRecord,
  isAssignable,
  isInputFor,
  mayBeLeftOut,
  nullable,
  plainType,
  withoutNull,
} from "../types/relations.ts"
import { showType } from "../types/show-type.ts"
import type { ArrayType, RecordType, TupleType, Type } from "../types/types.ts"

/** `input`: what a field of an input may be left out of is fine. */
type Fitting = "whole" | "input"

/**
 * Reports an expression (already inferred) whose value is not of the type that its place needs, as deep inside a literal
 * as the misfit is. An array literal is as good as a tuple, and its strings as good as names of an enum.
 */
export function mustFit(
  checking: CheckContext,
  node: Syntax.Expression,
  expected: Type,
  path: string,
  how: Fitting = "whole",
): void {
  const found: Type = checking.expressionTypes.get(node) ?? errorType
  checking.fit(found, expected)
  takeNumbers(checking, node, expected)
  const fits = how === "input" ? isInputFor : isAssignable
  if (fits(found, expected, checking.types) || refuseAsset(checking, node, found, path)) return
  const wanted = plainType(expected, checking.types)
  if (node.kind === "group") return mustFit(checking, node.expression, expected, path, how)
  if (node.kind === "array" && (wanted.kind === "array" || wanted.kind === "tuple")) {
    return elementsMustFit(checking, node, wanted, path, how)
  }
  if (node.kind === "list" && wanted.kind === "array" && wanted.length === undefined) {
    return mustFit(checking, node.value, wanted.element, path, how)
  }
  const pairs = wanted.kind === "map" && node.kind === "function" ? mapPairs(node) : []
  if (wanted.kind === "map" && pairs.length > 0) {
    for (const { value } of pairs) mustFit(checking, value, wanted.value, path, how)
    return
  }
  if (node.kind === "object") {
    const record = wanted.kind === "variant" ? caseRecord(wanted, constantField(node, wanted.tag)) : wanted
    if (record?.kind === "record") return fieldsMustFit(checking, node, record, path, how)
    if (wanted.kind === "map") {
      for (const { name, value } of node.body.items) mustFit(checking, value, wanted.value, `${path}.${name.text}`, how)
      return
    }
  }
  mismatch(checking, node, found, expected, path)
}

function mismatch(checking: CheckContext, node: Syntax.Expression, found: Type, expected: Type, path: string): void {
  if (node.kind === "number" && checking.inexactIntegers.delete(node) && expected.kind === "integer") {
    return inexactInteger(checking, node, path, "Write a number in that range.")
  }
  const message = `Expected ${showType(expected)}, found ${showType(found)}`
  checking.report("type-mismatch", path, node, message, fixFor(checking, node, found, expected))
}

/** What to write for a value of another type. */
export function fixFor(checking: CheckContext, node: Syntax.Expression, found: Type, expected: Type): Hint | undefined {
  const { types } = checking
  if (nullable(found, types) && found.kind !== "null" && isAssignable(withoutNull(found, types), expected, types)) {
    return "It may be null: give a default with `??`."
  }
  if (withoutNull(expected, types).kind !== "string" || found.kind === "null") return undefined
  if (node.kind === "number" || node.kind === "word") return inQuotes(checking.quote(node), "in quotes")
  return inQuotes(`{{ ${checking.quote(node)} }}`, "into text")
}

function inQuotes(text: string, where: string): Hint {
  return write(`"${text}"`, undefined, `Write it ${where}: \`"${text}"\`.`)
}

function elementsMustFit(
  checking: CheckContext,
  node: Syntax.Expression & { kind: "array" },
  wanted: ArrayType | TupleType,
  path: string,
  how: Fitting,
): void {
  const count = wanted.kind === "tuple" ? wanted.elements.length : wanted.length
  if (count !== undefined && count !== node.items.length) {
    const message = `Expected ${count === 1 ? "1 element" : `${count} elements`}, found ${node.items.length}`
    checking.report("type-mismatch", path, node, message)
    return
  }
  for (const [index, item] of node.items.entries()) {
    const element = wanted.kind === "tuple" ? wanted.elements[index] : wanted.element
    if (element !== undefined) mustFit(checking, item, element, path, how)
  }
}

function fieldsMustFit(
  checking: CheckContext,
  node: Syntax.Expression & { kind: "object" },
  wanted: RecordType,
  path: string,
  how: Fitting,
): void {
  const given = new Set<string>()
  for (const field of node.body.items) {
    const name = field.name.text
    const fieldPath = `${path}.${name}`
    given.add(name)
    const expected = fieldNamed(wanted, name)
    if (expected !== undefined) {
      mustFit(checking, field.value, expected.type, fieldPath, how)
      continue
    }
    if (checking.incomplete.has(wanted)) continue
    const hint = knownList(checking, name, wanted.fields, "Its fields are")
    checking.report(
      "type-mismatch",
      fieldPath,
      field.name,
      `There is no field \`${name}\` in ${showType(wanted)}`,
      hint,
    )
  }
  if (checking.skipped.hasNameless(node.body)) return
  for (const field of wanted.fields) {
    const { name, type } = field
    if (given.has(name) || (how === "input" && mayBeLeftOut(field, checking.types))) continue
    const hint = `Add \`${name}: …\` (${showType(type)}).`
    checking.report("type-mismatch", `${path}.${name}`, node.body.open, `The field \`${name}\` is missing`, hint)
  }
}

/** The value of a field that is a plain string: what a variant's tag must be to say which case it is. */
function constantField(node: Syntax.Expression & { kind: "object" }, name: string): string {
  const value = node.body.items.find((field) => field.name.text === name)?.value
  return value?.kind === "string" && value.interpolations.length === 0 ? (value.texts[0] ?? "") : ""
}
