import type { Block, Chain, Expression, Property } from "./tree.ts"

/** Visits every chain in an expression, also those inside blocks of calls and assets. */
export function eachChain(expression: Expression, visit: (chain: Chain) => void): void {
  walk(expression, visit, () => undefined)
}

/** The same, and what follows `ran`, `asked` and their like in a test. */
export function eachObserved(expression: Expression, visit: (chain: Chain) => void): void {
  walk(expression, visit, visit)
}

function walk(expression: Expression, visit: (chain: Chain) => void, observe: (step: Chain) => void): void {
  const inner = (node: Expression): void => walk(node, visit, observe)
  switch (expression.kind) {
    case "string":
      expression.interpolations.forEach(inner)
      break
    case "function":
      if (expression.receiver !== undefined) inner(expression.receiver)
      expression.items.forEach(inner)
      break
    case "array":
      expression.items.forEach(inner)
      break
    case "list":
      inner(expression.value)
      inner(expression.loop.items)
      if (expression.when !== undefined) inner(expression.when.condition)
      if (expression.by !== undefined) inner(expression.by.key)
      break
    case "object":
      for (const field of expression.body.items) inner(field.value)
      break
    case "group":
      inner(expression.expression)
      break
    case "chain":
      visit(expression)
      if (expression.base.kind !== "name") inner(expression.base)
      break
    case "default":
    case "binary":
      inner(expression.left)
      inner(expression.right)
      break
    case "not":
    case "negate":
      inner(expression.operand)
      break
    case "match":
      inner(expression.value)
      for (const branch of expression.body.items) inner(branch.value)
      break
    case "call":
    case "read":
    case "render":
    case "repeat":
      if (expression.when !== undefined) inner(expression.when.condition)
      inBlock(expression.block, inner)
      break
    case "asset":
      inner(expression.value)
      inBlock(expression.block, inner)
      break
    case "exception":
      inner(expression.value)
      break
    // What follows names a step, and is no value.
    case "observed":
      observe(expression.target)
      for (const field of expression.arguments?.items ?? []) inner(field.value)
      break
    case "fail":
      inner(expression.message)
      break
    case "fixture":
    case "number":
    case "word":
    case "missing-expression":
      break
  }
}

function inBlock(block: Block<Property> | undefined, inner: (node: Expression) => void): void {
  for (const { value } of block?.items ?? []) {
    if (value.kind === "expression") inner(value.expression)
    else if (value.kind === "values") for (const field of value.block.items) inner(field.value)
  }
}
