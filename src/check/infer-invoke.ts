import { propertyOf } from "../syntax/property-of.ts"
import type * as Syntax from "../syntax/tree.ts"
import { inBindings, inValue, withoutSecrets } from "./allowance.ts"
import { blockOf } from "./block-of.ts"
import { checkApproval } from "./check-approval.ts"
import type { CheckContext } from "./check-context.ts"
import { anyType, errorType, stringType } from "../types/primitives.ts"
import { fieldNamed } from "../types/field-named.ts"
import { knownList } from "./known-list.ts"
import { refuseAsset } from "./misplaced-asset.ts"
import { mustFit } from "./must-fit.ts"
import type { ImportSymbol } from "./program.ts"
import { readProperties } from "./properties.ts"
import { declareUnique, refuseKey } from "./repeated-name.ts"
import { resolveNamed } from "./resolve-named.ts"
import type { Infer, Scope } from "./scope.ts"
import { at } from "./scope.ts"
import { nullable } from "../types/relations.ts"
import { showType } from "../types/show-type.ts"
import type { Type } from "../types/types.ts"

const kinds = { call: "tool", read: "resource", render: "prompt" } as const

/** `call tool.t { … }`, `read resource.r { … }`, `render prompt.p { … }` */
export function inferInvoke(checking: CheckContext, node: Syntax.InvokeNode, scope: Scope, infer: Infer): Type {
  if (scope.values !== "run") {
    const message = `\`${node.kind}\` is not allowed in ${scope.place}, which must be known before the workflow runs`
    checking.report("misplaced-expression", scope.path, node.keyword, message, "Use a value of the request.")
  }
  const kind = kinds[node.kind]
  const symbol = resolveImport(checking, node.target, kind, scope.path)
  const properties = readProperties(checking, node.kind, node.block, scope.path, node.keyword)
  const inner = inValue(scope)
  const bound = checkBindings(checking, properties.get("bindings"), symbol, kind, inner, infer)
  if (node.kind === "call") {
    const input = blockOf(checking, properties.get("input"), `${scope.path}.input`)
    const place = { ...withoutSecrets(at(inner, "input")), place: "a tool's input" }
    checkArguments(checking, input?.items ?? [], node, symbol, bound, place, infer)
  }
  checkApproval(checking, properties.get("approval"), inner, infer)
  if (symbol === undefined) return errorType
  if (node.kind === "render") return stringType
  return node.kind === "call" ? (symbol.output ?? anyType) : anyType
}

/** `tool.t`: the import of that kind and name; undefined also where more follows it. */
export function resolveImport(
  checking: CheckContext,
  chain: Syntax.Chain,
  kind: Syntax.ImportKind,
  path: string,
): ImportSymbol | undefined {
  const symbol = resolveNamed(checking, chain, kind, checking.imports(kind), path)
  return chain.steps.length > 1 ? undefined : symbol
}

/** Values of a `bindings { }` block; the names that are bound. Secrets may go to tools and resources, not to prompts. */
export function checkBindings(
  checking: CheckContext,
  property: Syntax.Property | undefined,
  symbol: ImportSymbol | undefined,
  kind: Syntax.ImportKind,
  scope: Scope,
  infer: Infer,
): Set<string> {
  const path = `${scope.path}.bindings`
  const inner: Scope = {
    ...inBindings(scope, kind),
    path,
    place: kind === "prompt" ? "a prompt's bindings" : `the bindings of a ${kind}`,
  }
  const bound = new Set<string>()
  for (const field of blockOf(checking, property, path)?.items ?? []) {
    const type = inferArgument(checking, field, bound, inner, infer)
    const wanted = symbol?.input && fieldNamed(symbol.input, field.name.text)
    if (type !== undefined && wanted !== undefined) {
      mustFit(checking, field.value, wanted.type, `${path}.${field.name.text}`)
    }
  }
  return bound
}

/** The type of a value that goes to a server, under a name that is entered into those of its block. */
function inferArgument(
  checking: CheckContext,
  { name, value }: Syntax.ValueField,
  names: Set<string>,
  scope: Scope,
  infer: Infer,
): Type | undefined {
  const fieldScope = at(scope, name.text)
  const type = infer(checking, value, fieldScope)
  const isAsset = refuseAsset(checking, value, type, fieldScope.path)
  const refused = refuseKey(checking, name, fieldScope.path) || declareUnique(checking, names, name, fieldScope.path)
  return isAsset || refused ? undefined : type
}

/** The arguments of a call against the tool's declared input, where it has one. */
function checkArguments(
  checking: CheckContext,
  fields: readonly Syntax.ValueField[],
  node: Syntax.InvokeNode,
  symbol: ImportSymbol | undefined,
  bound: ReadonlySet<string>,
  scope: Scope,
  infer: Infer,
): void {
  const given = new Set<string>()
  const declared = symbol === undefined ? new Set<string>() : declaredBindings(symbol)
  for (const field of fields) {
    const type = inferArgument(checking, field, given, scope, infer)
    const name = field.name.text
    const path = `${scope.path}.${name}`
    if (bound.has(name) || declared.has(name)) {
      const message = `The argument \`${name}\` is bound already`
      checking.report("duplicate-field", path, field.name, message, "Remove it here, or the binding.")
    }
    if (type === undefined || symbol?.input === undefined) continue
    const wanted = fieldNamed(symbol.input, name)
    if (wanted !== undefined) mustFit(checking, field.value, wanted.type, path)
    else {
      const hint = knownList(checking, name, symbol.input.fields, "Its arguments are")
      checking.report("unknown-property", path, field.name, `The tool takes no argument \`${name}\``, hint)
    }
  }
  if (symbol?.input === undefined) return
  for (const { name, type } of symbol.input.fields) {
    if (given.has(name) || bound.has(name) || declared.has(name) || propertyOf(node.block, name) !== undefined) continue
    // It is not sent then.
    if (nullable(type, checking.types)) continue
    const message = `The tool needs the argument \`${name}\``
    const hint = `Add \`${name}: …\` (${showType(type)}) to its \`input\`.`
    checking.report("missing-property", `${scope.path}.${name}`, node.target, message, hint)
  }
}

/** What the import itself, or the batch that it stands in, binds. */
function declaredBindings(symbol: ImportSymbol): Set<string> {
  const names = new Set<string>()
  for (const items of [symbol.node.body?.items, symbol.batch?.body.items]) {
    for (const item of items ?? []) {
      if (item.kind !== "property" || item.name.text !== "bindings" || item.value.kind !== "values") continue
      for (const field of item.value.block.items) names.add(field.name.text)
    }
  }
  return names
}
