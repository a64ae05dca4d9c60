import { removeIt } from "../source/hint.ts"
import { checkArgumentSecret } from "./rules/hardcoded-secret.ts"
import { eachChain } from "../syntax/each-chain.ts"
import { placeOfImport } from "../syntax/import-kinds.ts"
import { propertyOf, skipsFailure } from "../syntax/property-of.ts"
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
import type { ImportNode, ImportSymbol } from "./program.ts"
import { readProperties } from "./properties.ts"
import { declareUnique, refuseKey } from "./repeated-name.ts"
import { resolveNamed } from "./resolve-named.ts"
import type { Infer, Scope } from "./scope.ts"
import { at } from "./scope.ts"
import { maybe, mayBeLeftOut } from "../types/relations.ts"
import { showType } from "../types/show-type.ts"
import type { RecordType, Type } from "../types/types.ts"

const kinds = { call: "tool", read: "resource", render: "prompt" } as const

/** Reports a call where nothing may be called; returns the scope without that rule, so that one mistake is one message. */
export function refuseMisplaced(checking: CheckContext, node: Syntax.InvokeNode, scope: Scope): Scope {
  if (scope.values !== "run") {
    const message = `\`${node.kind}\` is not allowed in ${scope.place}, which must be known before the workflow runs`
    checking.report("misplaced-expression", scope.path, node.keyword, message, "Use a value of the request.")
  }
  if (scope.isComputed !== true) return scope
  const message = `\`${node.kind}\` is not allowed in ${scope.place}`
  checking.report("call-in-condition", scope.path, node.keyword, message, insteadOf(node, scope))
  return { ...scope, isComputed: false }
}

/** Where a call may stand instead: a `dynamic` value sees neither the items of the list nor the result. */
function insteadOf(node: Syntax.InvokeNode, { variables, result, hasRound, isOwnRound, isClosed }: Scope): string {
  if (isClosed === true) return "Call in the workflow itself."
  const names = new Set<string>()
  eachChain(node, ({ base }) => base.kind === "name" && names.add(base.text))
  const item = [...names].find((name) => variables.get(name)?.isItem)
  const isAfter = item !== undefined || names.has("result") || names.has("round")
  if (hasRound === true && isAfter) {
    return isOwnRound === true
      ? "Let the agent use it, or a repeated workflow: `repeat workflow.name`."
      : "Call in the repeated workflow, and give the answer in its `output`."
  }
  if (result !== undefined && isAfter) return "Let an agent or a `dynamic` value after this one call and judge."
  if (item === undefined) return "Make a `dynamic` value of the call, and use `dynamic.name` here."
  return `Call in a list first, \`[{ ${item}: ${item}, made: ${node.kind} … } for ${item} in …]\`, and make this list from that one.`
}

/** `call tool.t { … }`, `read resource.r { … }`, `render prompt.p { … }` */
export function inferInvoke(
  checking: CheckContext,
  node: Syntax.InvokeNode & { kind: keyof typeof kinds },
  around: Scope,
  infer: Infer,
): Type {
  const scope = refuseMisplaced(checking, node, around)
  const kind = kinds[node.kind]
  const symbol = resolveImport(checking, node.target, kind, scope.path)
  const properties = readProperties(checking, node.kind, node.block, scope.path, node.keyword)
  const inner = inValue(scope)
  const bound = checkBindings(checking, properties.get("bindings"), symbol, kind, inner, infer)
  if (node.kind === "call") {
    const input = blockOf(checking, properties.get("input"), `${scope.path}.input`)
    const place = { ...withoutSecrets(at(inner, "input")), place: inputOfTool }
    const set = new Set([...bound, ...(symbol === undefined ? [] : declaredBindings(symbol))])
    const isBroken = symbol !== undefined && checking.skipped.hasError(symbol.node)
    checkArguments(
      checking,
      input?.items ?? [],
      node,
      { ...toolWords, input: symbol?.input, set, isBroken },
      place,
      infer,
    )
  }
  checkApproval(checking, properties.get("approval"), inner, infer)
  if (symbol === undefined) return errorType
  const given = node.kind === "render" ? stringType : node.kind === "call" ? (symbol.output ?? anyType) : anyType
  return skipsFailure(node) ? maybe(given) : given
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
  isUse = false,
): Set<string> {
  const path = `${scope.path}.bindings`
  const inner: Scope = {
    ...inBindings(scope, kind),
    path,
    place: kind === "prompt" ? "a prompt's bindings" : `the bindings of a ${kind}`,
  }
  const bound = new Set<string>()
  const fixed = new Set(symbol === undefined || !isUse ? [] : declaredBindings(symbol))
  for (const field of blockOf(checking, property, path)?.items ?? []) {
    const type = inferArgument(checking, field, bound, inner, infer)
    const own = `${path}.${field.name.text}`
    if (fixed.has(field.name.text)) {
      const message = `The import binds \`${field.name.text}\` already`
      checking.report("duplicate-binding", own, field.name, message, "Remove it here, or from the import.")
    }
    if (type === undefined || symbol?.input === undefined) continue
    const wanted = fieldNamed(symbol.input, field.name.text)
    if (wanted !== undefined) mustFit(checking, field.value, wanted.type, own)
    // A server may have more arguments than a workflow declares; an api has those alone.
    else if (isHttpTool(symbol.node) && !checking.skipped.hasError(symbol.node)) {
      reportUnknown(checking, field.name, toolWords, symbol.input, own)
    }
  }
  return bound
}

export function isHttpTool(node: ImportNode): node is Syntax.ImportDeclaration {
  return node.kind === "import" && placeOfImport(node.importKind, node.source) === "http-tool"
}

const inputOfTool = "a tool's input"
const mayHoldSecrets: ReadonlySet<string> = new Set(["the bindings of a tool", "the bindings of a resource"])

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
  if (scope.place === inputOfTool || mayHoldSecrets.has(scope.place)) {
    checkArgumentSecret(checking, name.text, value, fieldScope.path, scope.place === inputOfTool ? "input" : "bindings")
  }
  const isAsset = refuseAsset(checking, value, type, fieldScope.path)
  const refused = refuseKey(checking, name, fieldScope.path) || declareUnique(checking, names, name, fieldScope.path)
  return isAsset || refused ? undefined : type
}

/** What a call may be given. */
export interface Taken {
  /** Words for messages. */
  readonly what: "tool" | "workflow"
  readonly one: "argument" | "input"
  /** Undefined where nothing is declared. */
  readonly input: RecordType | undefined
  /** Names that are bound already. */
  readonly set: ReadonlySet<string>
  /** Its declaration could not be read as a whole. */
  readonly isBroken: boolean
}

const toolWords = { what: "tool", one: "argument" } as const

/** The values of a call against what is declared, where something is. */
export function checkArguments(
  checking: CheckContext,
  fields: readonly Syntax.ValueField[],
  node: Syntax.InvokeNode,
  taken: Taken,
  scope: Scope,
  infer: Infer,
): void {
  const { what, one, input, set } = taken
  const given = checkGiven(checking, fields, taken, scope, infer)
  if (input === undefined || checking.skipped.hasError(node)) return
  for (const field of input.fields) {
    const { name, type } = field
    if (given.has(name) || set.has(name) || propertyOf(node.block, name) !== undefined) continue
    // It is not sent then; for a workflow its default counts, or null.
    if (mayBeLeftOut(field, checking.types)) continue
    const message = `The ${what} needs the ${one} \`${name}\``
    const hint = `Add \`${name}: …\` (${showType(type)}) to its \`input\`.`
    checking.report("missing-property", `${scope.path}.${name}`, node.target, message, hint)
  }
}

/** The values that are there; returns their names. */
export function checkGiven(
  checking: CheckContext,
  fields: readonly Syntax.ValueField[],
  { what, one, input, set, isBroken }: Taken,
  scope: Scope,
  infer: Infer,
): Set<string> {
  const given = new Set<string>()
  for (const field of fields) {
    const type = inferArgument(checking, field, given, scope, infer)
    const name = field.name.text
    const path = `${scope.path}.${name}`
    if (set.has(name)) {
      const message = `The ${one} \`${name}\` is bound already`
      checking.report("duplicate-field", path, field.name, message, "Remove it here, or the binding.")
    }
    if (type === undefined || input === undefined) continue
    const wanted = fieldNamed(input, name)
    if (wanted !== undefined) mustFit(checking, field.value, wanted.type, path, what === "workflow" ? "input" : "whole")
    else if (!isBroken) reportUnknown(checking, field.name, { what, one }, input, path)
  }
  return given
}

function reportUnknown(
  checking: CheckContext,
  name: Syntax.Name,
  { what, one }: Pick<Taken, "what" | "one">,
  { fields }: RecordType,
  path: string,
): void {
  const known = what === "tool" ? "Its arguments are" : "Its input fields are"
  const hint = fields.length === 0 ? removeIt() : knownList(checking, name.text, fields, known)
  checking.report("unknown-property", path, name, `The ${what} takes no ${one} \`${name.text}\``, hint)
}

/** What the import itself, or the batch that it stands in, binds. */
export function declaredBindings(symbol: ImportSymbol): Set<string> {
  const names = new Set<string>()
  for (const items of [symbol.node.body?.items, symbol.batch?.body.items]) {
    for (const item of items ?? []) {
      if (item.kind !== "property" || item.name.text !== "bindings" || item.value.kind !== "values") continue
      for (const field of item.value.block.items) names.add(field.name.text)
    }
  }
  return names
}
