import { mapPairs } from "../../syntax/map-pairs.ts"
import type * as Syntax from "../../syntax/tree.ts"
import { fieldNamed } from "../../types/field-named.ts"
import { membersOf } from "../../types/members-of.ts"
import { plainType } from "../../types/relations.ts"
import type { Type } from "../../types/types.ts"
import type { CheckContext } from "../check-context.ts"

// Whole numbers that are written out and too large to be exact: `9007199254740993` would silently become `…992`. Only where
// a `number` is expected may a value be rounded.

/** Remembers a number (just inferred) that is not exact, until it is known what its place expects. */
export function noteInteger(checking: CheckContext, node: Syntax.NumberNode, path: string): void {
  if (isInexact(checking, node)) checking.inexactIntegers.set(node, path)
}

/** Takes the numbers of a literal whose places expect a `number`. */
export function takeNumbers(checking: CheckContext, node: Syntax.Expression, expected: Type): void {
  if (checking.inexactIntegers.size === 0) return
  const wanted = plainType(expected, checking.types)
  switch (node.kind) {
    case "number":
      if (membersOf(wanted, checking.types).some(({ kind }) => kind === "number")) checking.inexactIntegers.delete(node)
      return
    case "group":
      return takeNumbers(checking, node.expression, wanted)
    case "default":
      takeNumbers(checking, node.left, wanted)
      return takeNumbers(checking, node.right, wanted)
    case "array":
      for (const [at, item] of node.items.entries()) {
        const element = wanted.kind === "array" ? wanted.element : wanted.kind === "tuple" && wanted.elements[at]
        if (element) takeNumbers(checking, item, element)
      }
      return
    case "function":
      if (wanted.kind === "map") for (const { value } of mapPairs(node)) takeNumbers(checking, value, wanted.value)
      return
    case "list":
      if (wanted.kind === "array") takeNumbers(checking, node.value, wanted.element)
      return
    case "object":
      if (wanted.kind === "map") for (const { value } of node.body.items) takeNumbers(checking, value, wanted.value)
      if (wanted.kind !== "record") return
      for (const { name, value } of node.body.items) {
        const field = fieldNamed(wanted, name.text)
        if (field !== undefined) takeNumbers(checking, value, field.type)
      }
      return
    default:
  }
}

/** Reports the numbers whose places expect a value of any type. */
export function reportInexactIntegers(checking: CheckContext): void {
  for (const [node, path] of checking.inexactIntegers) inexactInteger(checking, node, path)
}

/** The same for a value that is fixed before the run. */
export function checkConstantIntegers(checking: CheckContext, node: Syntax.Expression, path: string): void {
  switch (node.kind) {
    case "number":
      if (isInexact(checking, node)) inexactInteger(checking, node, path)
      return
    case "group":
      return checkConstantIntegers(checking, node.expression, path)
    case "array":
      for (const item of node.items) checkConstantIntegers(checking, item, path)
      return
    case "object":
      for (const { name, value } of node.body.items) checkConstantIntegers(checking, value, `${path}.${name.text}`)
      return
    default:
  }
}

/** A fraction or an exponent says that the number may be rounded. */
function isInexact(checking: CheckContext, node: Syntax.NumberNode): boolean {
  return !Number.isSafeInteger(node.value) && /^-?\s*[\d_]+$/.test(checking.textOf(node))
}

export function inexactInteger(checking: CheckContext, node: Syntax.NumberNode, path: string, hint?: string): void {
  const written = checking.quote(node)
  const plain = written.replaceAll("_", "")
  const most = Number.MAX_SAFE_INTEGER
  const message = `${written} is not exact: whole numbers go from -${most} to ${most}`
  const other = `Write it as text, \`"${plain}"\`, or as a number that may be rounded, \`${plain}.0\`.`
  checking.report("type-mismatch", path, node, message, hint ?? other)
}
