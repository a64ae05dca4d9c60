import type * as Syntax from "../syntax/tree.ts"
import type { Checking } from "./checking.ts"
import { positiveInteger } from "./constants.ts"
import { importTable } from "./declare.ts"
import { unknownReference } from "./infer-steps.ts"
import type { ImportSymbol } from "./program.ts"
import { knownList, readProperties } from "./properties.ts"
import { isAssignable } from "./relations.ts"
import { isRepeated } from "./repeated-name.ts"
import type { Scope } from "./scope.ts"
import { at } from "./scope.ts"
import { showType } from "./show-type.ts"
import type { RecordType, Type } from "./types.ts"

type Infer = (checking: Checking, expression: Syntax.Expression, scope: Scope) => Type

const verbs = {
  call: { kind: "tool", what: "a tool" },
  read: { kind: "resource", what: "a resource" },
  render: { kind: "prompt", what: "a prompt" },
} as const

/** `call tool.t { … }`, `read resource.r { … }`, `render prompt.p { … }` */
export function inferInvoke(checking: Checking, node: Syntax.InvokeNode, scope: Scope, infer: Infer): Type {
  if (!scope.calls) {
    const message = `\`${node.kind}\` may stand only in a \`dynamic\` value or the \`output\``
    const hint = "Move it to a `dynamic` value and refer to that."
    checking.report("misplaced-expression", scope.path, node.keyword, message, hint)
  }
  const { kind } = verbs[node.kind]
  const symbol = resolveImport(checking, node.target, kind, scope.path)
  const properties = readProperties(checking, node.kind, node.block?.items ?? [], scope.path, node.keyword)
  const bindings = properties.get("bindings")
  const bound = bindings === undefined ? [] : checkBindings(checking, bindings, symbol, kind, scope, infer)
  const inner: Scope = { ...scope, assets: "none", calls: false }
  const input = properties.get("input")
  if (input?.value.kind === "values") {
    checkCallInput(
      checking,
      input.value.block.items,
      node,
      symbol,
      bound,
      { ...at(inner, "input"), place: "a tool's input" },
      infer,
    )
  } else if (symbol?.input !== undefined) {
    checkCallInput(checking, [], node, symbol, bound, { ...at(inner, "input"), place: "a tool's input" }, infer)
  }
  positiveInteger(checking, properties.get("max_calls"), `${scope.path}.max_calls`)
  if (symbol === undefined) return { kind: "error" }
  if (node.kind === "render") return { kind: "string" }
  return node.kind === "call" ? (symbol.output ?? { kind: "any" }) : { kind: "any" }
}

/** `tool.t`: the import of that kind and name. */
export function resolveImport(
  checking: Checking,
  chain: Syntax.Chain,
  kind: Syntax.ImportKind,
  path: string,
): ImportSymbol | undefined {
  const table = importTable(checking, kind)
  const [step, extra] = chain.steps
  if (chain.base.kind !== "name") return undefined
  if (chain.base.text !== kind || step?.kind !== "field") {
    const [example] = table.keys()
    const message = `Expected a ${kind}, found \`${checking.textOf(chain)}\``
    checking.report("type-mismatch", path, chain, message, `Write \`${kind}.${example ?? "name"}\`.`)
    return undefined
  }
  const symbol = table.get(step.name.text)
  if (symbol === undefined) {
    unknownReference(checking, chain, step.name, table.keys(), path)
    return undefined
  }
  checking.refer(`${kind}.${step.name.text}`, step.name)
  if (extra !== undefined) {
    unknownReference(checking, chain, { ...extra, text: checking.textOf(extra) }, [], path)
    return undefined
  }
  return symbol
}

/** Values of a `bindings { }` block; the names that are bound. Secrets may go to tools and resources, not to prompts. */
export function checkBindings(
  checking: Checking,
  property: Syntax.Property,
  symbol: ImportSymbol | undefined,
  kind: Syntax.ImportKind,
  scope: Scope,
  infer: Infer,
): string[] {
  const path = `${scope.path}.bindings`
  if (property.value.kind !== "values") return []
  const inner: Scope = {
    ...scope,
    path,
    place: kind === "prompt" ? "a prompt's bindings" : "the bindings",
    secrets: kind === "prompt" ? "exposed" : "allowed",
    calls: false,
    assets: "none",
  }
  const seen = new Set<string>()
  for (const field of property.value.block.items) {
    const fieldScope = at(inner, field.name.text)
    const type = infer(checking, field.value, fieldScope)
    isRepeated(checking, seen, field.name, fieldScope.path)
    const wanted = symbol?.input?.fields.find((one) => one.name === field.name.text)
    if (wanted !== undefined) mustFit(checking, field.value, type, wanted.type, fieldScope.path)
  }
  return [...seen]
}

function mustFit(checking: Checking, node: Syntax.Expression, type: Type, wanted: Type, path: string): void {
  if (isAssignable(type, wanted, checking.types)) return
  checking.report("type-mismatch", path, node, `Expected ${showType(wanted)}, found ${showType(type)}`)
}

/** The arguments of a call against the tool's declared input, where it has one. */
function checkCallInput(
  checking: Checking,
  fields: readonly Syntax.ValueField[],
  node: Syntax.InvokeNode,
  symbol: ImportSymbol | undefined,
  bound: readonly string[],
  scope: Scope,
  infer: Infer,
): void {
  const seen = new Set<string>()
  const declared: RecordType | undefined = symbol?.input
  for (const field of fields) {
    const fieldScope = at(scope, field.name.text)
    const type = infer(checking, field.value, fieldScope)
    const name = field.name.text
    isRepeated(checking, seen, field.name, fieldScope.path)
    if (declared === undefined) continue
    const wanted = declared.fields.find((one) => one.name === name)
    if (wanted === undefined) {
      const hint = knownList(
        name,
        declared.fields.map((one) => one.name),
        "Its arguments are",
      )
      checking.report("unknown-property", fieldScope.path, field.name, `The tool takes no \`${name}\``, hint)
    } else {
      mustFit(checking, field.value, type, wanted.type, fieldScope.path)
    }
  }
  if (declared === undefined || symbol === undefined) return
  const given = new Set([...seen, ...bound, ...declaredBindings(symbol)])
  for (const field of declared.fields) {
    if (given.has(field.name)) continue
    const message = `The tool needs the argument \`${field.name}\``
    const hint = `Add \`${field.name}: …\` (${showType(field.type)}) to its \`input\`.`
    checking.report("missing-property", `${scope.path}.${field.name}`, node.target, message, hint)
  }
}

/** What the import itself, or the batch that it stands in, binds. */
export function declaredBindings(symbol: ImportSymbol): string[] {
  const blocks = [symbol.node.body?.items, symbol.batch?.body.items]
  const names: string[] = []
  for (const items of blocks) {
    for (const item of items ?? []) {
      if (item.kind !== "property" || item.name.text !== "bindings" || item.value.kind !== "values") continue
      names.push(...item.value.block.items.map((field) => field.name.text))
    }
  }
  return names
}
