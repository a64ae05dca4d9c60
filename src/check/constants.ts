import type { JsonValue } from "../base/json-value.ts"
import { objectOf } from "../base/ordered-object.ts"
import type { ConstantRule } from "../syntax/constant-rule.ts"
import { expressionIn, type Properties } from "../syntax/property-of.ts"
import type * as Syntax from "../syntax/tree.ts"
import type { CheckContext } from "./check-context.ts"
import { declareUnique, refuseKey } from "./repeated-name.ts"
import { showFound } from "../types/show-misfit.ts"
import { checkConstantIntegers } from "./rules/inexact-integer.ts"
import { secretInSetting } from "./rules/secret-exposed.ts"

/** The value of an expression that is written out, without references; undefined when it is not. */
export function constantOf(node: Syntax.Expression): JsonValue | undefined {
  switch (node.kind) {
    case "number":
      return node.value
    case "word":
      return node.value
    case "string":
      return node.interpolations.length === 0 ? (node.texts[0] ?? "") : undefined
    case "group":
      return constantOf(node.expression)
    case "array": {
      const items = node.items.map(constantOf)
      return items.every((item) => item !== undefined) ? items : undefined
    }
    case "object":
      return constantFields(node.body)
    default:
      return undefined
  }
}

/** The constant that a property has; undefined where it is missing or not constant. */
export function constantIn(block: Properties | undefined, name: string): JsonValue | undefined {
  const expression = expressionIn(block, name)
  return expression && constantOf(expression)
}

/** The number that a property has; null where it has none. */
export function numberIn(block: Properties | undefined, name: string): number | null {
  const constant = constantIn(block, name)
  return typeof constant === "number" ? constant : null
}

/** The value of a block of values that are all written out. */
export function constantFields(block: Syntax.Block<Syntax.ValueField>): { [key: string]: JsonValue } | undefined {
  const entries: [string, JsonValue][] = []
  for (const field of block.items) {
    const value = constantOf(field.value)
    if (value === undefined) return undefined
    entries.push([field.name.text, value])
  }
  return objectOf(entries)
}

/** Reports a property whose value is not written out, or not what the rule asks for. */
export function checkConstant(
  checking: CheckContext,
  property: Syntax.Property | undefined,
  path: string,
  rule: ConstantRule,
): void {
  if (property === undefined || property.value.kind === "missing") return
  const { value } = property
  switch (value.kind) {
    case "expression":
      if (value.expression.kind !== "missing-expression") {
        judge(checking, constantOf(value.expression), value.expression, path, rule)
      }
      return
    case "values": {
      const object = { kind: "object", body: value.block, start: value.block.start, end: value.block.end } as const
      judge(checking, constantFields(value.block), object, path, rule)
      return
    }
    default:
      checking.report("type-mismatch", path, property.name, `Expected ${rule.expected}, found a block`)
  }
}

function judge(
  checking: CheckContext,
  value: JsonValue | undefined,
  node: Syntax.Expression,
  path: string,
  rule: ConstantRule,
): void {
  if (value === undefined) return notConstant(checking, node, path, rule)
  checkKeys(checking, node, path)
  if (rule.type === "object") checkConstantIntegers(checking, node, path)
  const found = showFound(value, true)
  const message = `Expected ${rule.expected}, found ${found}`
  if (!isOfType(value, rule.type)) checking.report("type-mismatch", path, node, message)
  else if (rule.fits?.(value) === false) checking.report(rule.code ?? "invalid-value", path, node, message)
}

/** Reports the part that is not written out. */
export function notConstant(checking: CheckContext, node: Syntax.Expression, path: string, rule: ConstantRule): void {
  if (node.kind === "group") return notConstant(checking, node.expression, path, rule)
  if (node.kind === "array") {
    const item = node.items.find((one) => constantOf(one) === undefined)
    if (item !== undefined) return notConstant(checking, item, path, rule)
  }
  if (node.kind === "object") {
    const field = node.body.items.find(({ value }) => constantOf(value) === undefined)
    if (field !== undefined) return notConstant(checking, field.value, `${path}.${field.name.text}`, rule)
  }
  if (node.kind === "missing-expression") return
  const secret = secretIn(node)
  if (secret !== undefined) return secretInSetting(checking, secret, path)
  const message = `Expected ${rule.expected} that is written out: it is set before the workflow runs`
  const isWord = rule.type === "string" && node.kind === "chain" && node.steps.length === 0
  const hint = isWord ? `Write \`"${checking.quote(node)}"\`.` : "Write the value itself."
  checking.report(rule.code ?? "misplaced-expression", path, node, message, hint)
}

function isOfType(value: JsonValue, type: ConstantRule["type"]): boolean {
  switch (type) {
    case "object":
      return typeof value === "object" && value !== null && !Array.isArray(value)
    case "strings":
      return typeof value === "string" || (Array.isArray(value) && value.every((one) => typeof one === "string"))
    default:
      return typeof value === type
  }
}

/** Names that stand twice in an object, or that none may have. */
export function checkKeys(checking: CheckContext, node: Syntax.Expression, path: string): void {
  if (node.kind === "group") return checkKeys(checking, node.expression, path)
  if (node.kind === "array") for (const item of node.items) checkKeys(checking, item, path)
  if (node.kind !== "object") return
  const seen = new Set<string>()
  for (const { name, value } of node.body.items) {
    const fieldPath = `${path}.${name.text}`
    if (!refuseKey(checking, name, fieldPath)) declareUnique(checking, seen, name, fieldPath)
    checkKeys(checking, value, fieldPath)
  }
}

function secretIn(node: Syntax.Expression): Syntax.Chain | undefined {
  switch (node.kind) {
    case "chain":
      if (node.base.kind !== "name") return secretIn(node.base)
      return node.base.text === "secrets" ? node : undefined
    case "string":
      return node.interpolations.map(secretIn).find((found) => found !== undefined)
    case "group":
      return secretIn(node.expression)
    case "default":
      return secretIn(node.left) ?? secretIn(node.right)
    default:
      return undefined
  }
}
