import { remembered } from "../base/remembered.ts"
import { sharedNode } from "../check/imported-declaration.ts"
import type { ImportSymbol, Program } from "../check/program.ts"
import { expressionIn, propertyOf, valuesOf, type Properties, wordOrString } from "../syntax/property-of.ts"
import type * as Syntax from "../syntax/tree.ts"
import { join, marked, none, type Label, type Marks } from "./marks.ts"

// What the declarations of a file say of trust: `gives`, `requires`, `cleared`, `approval`.

const words: ReadonlySet<string> = new Set(["gives", "requires", "cleared"])
const anyWord = /\b(?:gives|requires|cleared|untrusted|private|trust|release)\b/

/** Whether a file uses any word of trust, itself or in what it imports or calls. A field may be called `private`: only the tree can tell. */
export function usesTrust(program: Program): boolean {
  return remembered(used, program, findTrust)
}

const used = new WeakMap<Program, boolean>()

/** Whether a file, or one that it calls, says that a value is private. */
export function marksPrivate(program: Program): boolean {
  return remembered(marking, program, () => {
    const { tree, importedDeclarations, workflows } = program
    return (
      (tree.text.includes("private") && hasPrivate(tree.declarations)) ||
      [...importedDeclarations.keys()].some((id) => hasPrivate([importedNode(program, id)])) ||
      [...workflows.values()].some((called) => marksPrivate(called.program))
    )
  })
}

const marking = new WeakMap<Program, boolean>()

function findTrust(program: Program): boolean {
  const { tree, importedDeclarations, imported, workflows } = program
  return (
    (anyWord.test(tree.text) && hasWords(tree.declarations)) ||
    ([...imported].some(usesTrust) &&
      [...importedDeclarations.keys()].some((id) => declaresTrust(importedNode(program, id)))) ||
    [...workflows.values()].some((called) => usesTrust(called.program))
  )
}

/** Whether a tool of a file, or of those that it calls, may say `requires: strict`. */
export function hasStrict(program: Program): boolean {
  return remembered(strict, program, () => {
    const { imported, workflows } = program
    return (
      [program, ...imported].some(({ tree }) => tree.text.includes("strict")) ||
      [...workflows.values()].some((called) => hasStrict(called.program))
    )
  })
}

const strict = new WeakMap<Program, boolean>()

/** The declaration of another file, by its id here. */
function importedNode(program: Program, id: string): unknown {
  const dot = id.indexOf(".")
  return sharedNode(program, id.slice(0, dot) as Syntax.SharedKind, id.slice(dot + 1))
}

const looked = new WeakMap<object, boolean>()

/** Found once: many files may take one declaration over. */
function declaresTrust(declaration: unknown): boolean {
  if (typeof declaration !== "object" || declaration === null) return false
  return remembered(looked, declaration, () => hasWords([declaration]))
}

function hasWords(nodes: readonly unknown[]): boolean {
  return hasNode(nodes, (node) => {
    if (node.kind === "marked" || node.kind === "exception") return true
    return node.kind === "property" && words.has((node as Syntax.Property).name.text)
  })
}

function hasPrivate(nodes: readonly unknown[]): boolean {
  return hasNode(nodes, (node) => {
    if (node.kind === "marked") return (node as Syntax.MarkedType).mark === "private"
    return node.kind === "property" && (node as Syntax.Property).name.text === "gives" && saysPrivate(node)
  })
}

function saysPrivate(node: object): boolean {
  const { value } = node as Syntax.Property
  const items =
    value.kind !== "expression" ? [] : value.expression.kind === "array" ? value.expression.items : [value.expression]
  return items.some((item) => wordOrString(item) === "private")
}

function hasNode(nodes: readonly unknown[], matches: (node: { readonly kind: unknown }) => boolean): boolean {
  const open: unknown[] = [...nodes]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (typeof next !== "object" || next === null) continue
    if ("kind" in next && matches(next)) return true
    for (const inner of Object.values(next)) if (typeof inner === "object" && inner !== null) open.push(inner)
  }
  return false
}

/** The words that a property is set to: `private`, `[untrusted, private]`. Undefined where it is not there. */
export function wordsOf(block: Properties | undefined, name: string): readonly string[] | undefined {
  const expression = expressionIn(block, name)
  if (expression === undefined) return undefined
  const items = expression.kind === "array" ? expression.items : [expression]
  return items.flatMap((item) => wordOrString(item) ?? [])
}

/** `on_failure: skip`: after a failure the value is null, and the run goes on. */
export function skipOf(block: Properties | undefined): Syntax.Property | undefined {
  return wordsOf(block, "on_failure")?.includes("skip") === true ? propertyOf(block, "on_failure") : undefined
}

export function isCleared(block: Properties | undefined): boolean {
  return wordsOf(block, "cleared")?.includes("private") === true
}

/** What a tool demands of those who call it: that all of a call is trusted (`strict`: and not chosen by strangers), or these arguments; undefined where it says nothing. */
export type Requires = "trusted" | "strict" | "none" | readonly string[] | undefined

/** A tool, resource or prompt, with what it and its server say. */
export interface Remote {
  /** `tool.refund` */
  readonly id: string
  /** Undefined for a file that is called. */
  readonly symbol: ImportSymbol | undefined
  readonly server: string
  readonly isCleared: boolean
  readonly requires: Requires
  /** The labels of what it gives, besides those of its arguments. */
  readonly gives: Marks
  readonly isApproved: boolean
  /** The blocks `approval { … }` that hold for every use: its own, and that of its batch. */
  readonly approvals: readonly Syntax.Block<Syntax.Property>[]
  /** The group that its server's questions go to is not cleared. */
  readonly asksOthers: boolean
  /** Its own bindings, and those of its batch that it leaves: they hold for every use. */
  readonly bindings: readonly Syntax.ValueField[]
}

export function remoteOf(program: Program, symbol: ImportSymbol): Remote {
  const id = `${symbol.kind}.${symbol.name.text}`
  const name = symbol.server?.text ?? ""
  const server = `${symbol.origin}.${name}`
  const own = symbol.node.body
  const block = (symbol.origin === "mcp" ? program.servers : program.apis).get(name)?.body
  const requires = requiresOf(own)
  const bound = valuesOf(own, "bindings")
  const names = new Set(bound.map((field) => field.name.text))
  const shared = valuesOf(symbol.batch?.body, "bindings").filter((field) => !names.has(field.name.text))
  return {
    id,
    symbol,
    server,
    isCleared: isCleared(own) || isCleared(block),
    requires,
    gives: givesOf(id, symbol, server, requires, wordsOf(own, "gives") ?? wordsOf(block, "gives") ?? []),
    isApproved: approves(own) || approves(symbol.batch?.body),
    approvals: [approvalBlock(own), approvalBlock(symbol.batch?.body)].filter((one) => one !== undefined),
    asksOthers: asksOthers(blockIn(block, "elicitation")),
    bindings: [...bound, ...shared],
  }
}

function requiresOf(block: Properties | undefined): Requires {
  const expression = expressionIn(block, "requires")
  if (expression === undefined) return undefined
  if (expression.kind === "array") return wordsOf(block, "requires")
  const word = wordOrString(expression)
  // A word that nobody knows demands all there is to demand.
  return word === "none" || word === "trusted" ? word : "strict"
}

function givesOf(id: string, symbol: ImportSymbol, server: string, requires: Requires, said: readonly string[]): Marks {
  const acts = requires !== undefined && requires !== "none"
  const isTrusted = said.includes("trusted") || (!said.includes("untrusted") && (symbol.kind === "prompt" || acts))
  const source = { name: id, span: symbol.name, server }
  const label = (one: Label): Marks => marked(one, source)
  return join(isTrusted ? none : label("untrusted"), said.includes("private") ? label("private") : none)
}

/** Whether a person approves each call: `approval: required`, or a block. */
export function approves(block: Properties | undefined): boolean {
  const value = propertyOf(block, "approval")?.value
  if (value?.kind === "properties") return true
  return value?.kind === "expression" && wordOrString(value.expression) === "required"
}

/** `approval { to: … }`, where there is one. */
export function approvalBlock(block: Properties | undefined): Syntax.Block<Syntax.Property> | undefined {
  return blockIn(block, "approval")
}

/** The block of a property such as `approval { … }`. */
export function blockIn(block: Properties | undefined, name: string): Syntax.Block<Syntax.Property> | undefined {
  const value = propertyOf(block, name)?.value
  return value?.kind === "properties" ? value.block : undefined
}

/** Whether questions go to a group that is not cleared. */
export function asksOthers(block: Properties | undefined): boolean {
  return expressionIn(block, "to") !== undefined && !isCleared(block)
}
