import type { JsonValue } from "../base/json-value.ts"
import type * as Syntax from "../syntax/tree.ts"
import type { Checking } from "./checking.ts"

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
    case "object": {
      const entries: [string, JsonValue][] = []
      for (const field of node.body.items) {
        const value = constantOf(field.value)
        if (value === undefined) return undefined
        entries.push([field.name.text, value])
      }
      return Object.fromEntries(entries)
    }
    default:
      return undefined
  }
}

/** The constant value of a property; reports one that is not constant, or not what `fits` asks for. */
export function constantProperty(
  checking: Checking,
  property: Syntax.Property | undefined,
  path: string,
  expected: string,
  fits: (value: JsonValue) => boolean,
): JsonValue | undefined {
  if (property === undefined || property.value.kind === "missing") return undefined
  if (property.value.kind === "values") {
    const { block } = property.value
    return checkConstant(
      checking,
      { kind: "object", body: block, start: block.start, end: block.end },
      path,
      expected,
      fits,
    )
  }
  if (property.value.kind !== "expression") {
    checking.report("type-mismatch", path, property.name, `Expected ${expected}`)
    return undefined
  }
  return checkConstant(checking, property.value.expression, path, expected, fits)
}

function checkConstant(
  checking: Checking,
  node: Syntax.Expression,
  path: string,
  expected: string,
  fits: (value: JsonValue) => boolean,
): JsonValue | undefined {
  if (node.kind === "missing-expression") return undefined
  const value = constantOf(node)
  if (value === undefined) {
    const message = `Expected ${expected}, written out: this is set before the workflow runs`
    checking.report("misplaced-expression", path, node, message)
    return undefined
  }
  if (fits(value)) return value
  checking.report("type-mismatch", path, node, `Expected ${expected}, found ${showConstant(value)}`)
  return undefined
}

function showConstant(value: JsonValue): string {
  const text = JSON.stringify(value)
  return text.length > 40 ? `${text.slice(0, 40)}…` : text
}

export function positiveInteger(checking: Checking, property: Syntax.Property | undefined, path: string): void {
  constantProperty(checking, property, path, "a whole number from 1", (value) => isWhole(value, 1))
}

export function isWhole(value: JsonValue, least: number): boolean {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= least
}
