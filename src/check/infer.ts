import type { Span } from "../source/span.ts"
import type * as Syntax from "../syntax/tree.ts"
import type { Checking } from "./checking.ts"
import { inferInvoke } from "./infer-invoke.ts"
import { inferMatch } from "./infer-match.ts"
import { inferSteps } from "./infer-steps.ts"
import { readProperties } from "./properties.ts"
import { isAssignable, nullable, union, withoutNull } from "./relations.ts"
import { isRepeated } from "./repeated-name.ts"
import { inferRoot } from "./resolve-root.ts"
import type { Scope } from "./scope.ts"
import { at } from "./scope.ts"
import { showType } from "./show-type.ts"
import type { Field, Type } from "./types.ts"

const errorType: Type = { kind: "error" }
const stringType: Type = { kind: "string" }

/** The type of an expression where it stands; what is wrong with it is reported. */
export function infer(checking: Checking, expression: Syntax.Expression, scope: Scope): Type {
  const type = inferHere(checking, expression, scope)
  checking.expressionTypes.set(expression, type)
  return type
}

function inferHere(checking: Checking, expression: Syntax.Expression, scope: Scope): Type {
  switch (expression.kind) {
    case "string":
      return inferString(checking, expression, scope)
    case "number":
      return Number.isInteger(expression.value) ? { kind: "integer" } : { kind: "number" }
    case "word":
      return expression.value === null ? { kind: "null" } : { kind: "boolean" }
    case "array":
      return inferArray(checking, expression, scope)
    case "object":
      return { kind: "record", fields: inferFields(checking, expression.body.items, scope) }
    case "group":
      return infer(checking, expression.expression, scope)
    case "chain":
      return inferChain(checking, expression, scope)
    case "default":
      return inferDefault(checking, expression, scope)
    case "match":
      return inferMatch(checking, expression, scope, infer)
    case "call":
    case "read":
    case "render":
      return inferInvoke(checking, expression, scope, infer)
    case "asset":
      return inferAsset(checking, expression, scope)
    case "missing-expression":
      return errorType
  }
}

/** Infers, and reports a value that does not fit; `any` fits everywhere until the run. */
export function expectType(checking: Checking, expression: Syntax.Expression, expected: Type, scope: Scope): Type {
  const type = infer(checking, expression, scope)
  if (!isAssignable(type, expected, checking.types)) mismatch(checking, expression, type, expected, scope.path)
  return type
}

export function mismatch(checking: Checking, span: Span, found: Type, expected: Type, path: string): void {
  const fitsButNull =
    nullable(found, checking.types) && isAssignable(withoutNull(found, checking.types), expected, checking.types)
  const hint = fitsButNull && found.kind !== "null" ? "It may be null: give a default with `??`." : undefined
  checking.report("type-mismatch", path, span, `Expected ${showType(expected)}, found ${showType(found)}`, hint)
}

function inferString(checking: Checking, node: Syntax.StringNode, scope: Scope): Type {
  if (node.interpolations.length === 0) return { kind: "literal", value: node.texts[0] ?? "" }
  const inner: Scope = scope.assets === "instruction" ? scope : { ...scope, assets: "none" }
  for (const interpolation of node.interpolations) {
    const type = infer(checking, interpolation, inner)
    if (isAsset(checking, type) && inner.assets !== "instruction") misplacedAsset(checking, interpolation, scope.path)
    else if (nullable(type, checking.types)) nullableText(checking, interpolation, scope.path)
  }
  return stringType
}

function nullableText(checking: Checking, node: Syntax.Expression, path: string): void {
  const written = checking.textOf(node)
  const message = `\`${written}\` may be null, and would then read \`null\``
  checking.report("nullable-interpolation", path, node, message, `Give a default: \`{{ ${written} ?? "…" }}\`.`)
}

function inferArray(checking: Checking, node: Syntax.Expression & { kind: "array" }, scope: Scope): Type {
  const inner: Scope = { ...scope, assets: "none" }
  const elements = node.items.map((item) => {
    const type = infer(checking, item, inner)
    if (isAsset(checking, type)) misplacedAsset(checking, item, scope.path)
    return node.items.length > 1 ? widen(type) : type
  })
  return { kind: "array", element: elements.length === 0 ? { kind: "any" } : union(elements) }
}

/** A literal among others is just a string: `["a", "b"]` is an array of strings. */
export function widen(type: Type): Type {
  if (type.kind === "literal") return stringType
  return type.kind === "union" ? union(type.members.map(widen)) : type
}

/** The fields of an object literal, or of a block of values. */
export function inferFields(checking: Checking, fields: readonly Syntax.ValueField[], scope: Scope): Field[] {
  const inner: Scope = { ...scope, assets: "none" }
  const seen = new Set<string>()
  const inferred: Field[] = []
  for (const field of fields) {
    const fieldScope = at(inner, field.name.text)
    const type = infer(checking, field.value, fieldScope)
    if (isAsset(checking, type)) misplacedAsset(checking, field.value, fieldScope.path)
    if (isRepeated(checking, seen, field.name, fieldScope.path)) continue
    const entry: Field = { name: field.name.text, type }
    checking.fieldNodes.set(entry, field)
    inferred.push(entry)
  }
  return inferred
}

function inferChain(checking: Checking, chain: Syntax.Chain, scope: Scope): Type {
  const matched = checking.matched.get(chain)
  if (matched !== undefined) {
    checking.roots.set(chain, { kind: "matched" })
    return inferSteps(checking, chain, matched, 0, scope.path)
  }
  if (chain.base.kind === "name") {
    const root = inferRoot(checking, chain, chain.base, scope, infer)
    if (root === undefined) return errorType
    return inferSteps(checking, chain, root.type, root.steps, scope.path)
  }
  const inner: Scope = { ...scope, assets: "none" }
  return inferSteps(checking, chain, infer(checking, chain.base, inner), 0, scope.path)
}

function inferDefault(checking: Checking, node: Syntax.Expression & { kind: "default" }, scope: Scope): Type {
  const left = infer(checking, node.left, scope)
  const right = infer(checking, node.right, scope)
  if (left.kind === "any" || left.kind === "error") return left
  if (!nullable(left, checking.types)) {
    const message = `\`${checking.textOf(node.left)}\` is never null, so this default is never used`
    checking.report("unreachable-branch", scope.path, node.right, message, "Remove `??` and what follows it.")
    return left
  }
  if (left.kind === "null") return right
  const base = withoutNull(left, checking.types)
  return isAssignable(right, base, checking.types) ? base : union([base, widen(right)])
}

function inferAsset(checking: Checking, node: Syntax.AssetNode, scope: Scope): Type {
  if (scope.assets === "none") misplacedAsset(checking, node.keyword, scope.path)
  const inner: Scope = { ...scope, assets: "none" }
  expectType(checking, node.value, stringType, inner)
  const properties = readProperties(checking, "asset", node.block?.items ?? [], scope.path, node.keyword)
  for (const name of ["media_type", "title"]) {
    const value = properties.get(name)?.value
    if (value?.kind === "expression") expectType(checking, value.expression, stringType, at(inner, name))
  }
  const type = properties.get("type")
  if (type?.value.kind === "expression") assetKind(checking, type.value.expression, `${scope.path}.type`)
  return { kind: "asset" }
}

export const assetKinds = ["image", "document", "video"] as const

/** The kind that an asset, or a model's list, names: a string or a bare word. */
export function assetKind(
  checking: Checking,
  node: Syntax.Expression,
  path: string,
): (typeof assetKinds)[number] | undefined {
  const written = wordOrString(node)
  const kind = assetKinds.find((one) => one === written)
  if (kind === undefined) {
    checking.report("invalid-value", path, node, 'An asset is an "image", a "document" or a "video"')
  }
  return kind
}

/** The value of a plain string, or a bare word such as `auto`. */
export function wordOrString(node: Syntax.Expression): string | undefined {
  if (node.kind === "string" && node.interpolations.length === 0) return node.texts[0]
  if (node.kind === "chain" && node.base.kind === "name" && node.steps.length === 0) return node.base.text
  return undefined
}

export function isAsset(checking: Checking, type: Type): boolean {
  return withoutNull(type, checking.types).kind === "asset"
}

export function misplacedAsset(checking: Checking, span: Span, path: string): void {
  const message = "An asset can only be written into an instruction"
  const hint = "Write `{{ asset … }}` in an instruction, or name it in `dynamic` and write that there."
  checking.report("unsupported-asset", path, span, message, hint)
}
