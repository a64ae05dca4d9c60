import { functionNames } from "../../../src/check/function-table.ts"
import { stepFunctionNames } from "../../../src/check/step-functions.ts"
import { declarationWords } from "../../../src/syntax/declaration-start.ts"
import { parse } from "../../../src/syntax/parser.ts"
import { propertyTable } from "../../../src/syntax/property-table.ts"
import type * as Syntax from "../../../src/syntax/tree.ts"

// The constructs of the language, from the tables that the grammar is made of, and those that a source has: a construct that random
// programs never have is one that nobody tried.

/** Declarations, properties by their place, functions. */
export function knownConstructs(): Set<string> {
  const all = new Set<string>()
  for (const word of declarationWords) all.add(`declaration ${word}`)
  for (const [place, rows] of Object.entries(propertyTable)) {
    for (const name of Object.keys(rows)) all.add(`property ${name} of ${place}`)
  }
  for (const name of [...functionNames, ...stepFunctionNames]) all.add(`function ${name}`)
  for (const kind of [...expressionKinds, ...stepKinds, ...typeKinds]) all.add(kind)
  for (const kind of invokeKinds) all.add(`condition of ${kind}`)
  for (const operator of operators) all.add(`operator ${operator}`)
  return all
}

// The kinds of the tree's nodes are types: these lists name each of them, and `satisfies` keeps them whole.

type Kinds<Node extends { readonly kind: string }> = Readonly<Record<Node["kind"], true>>

const expressionTable = {
  string: true,
  number: true,
  word: true,
  array: true,
  list: true,
  object: true,
  group: true,
  chain: true,
  default: true,
  binary: true,
  not: true,
  negate: true,
  function: true,
  match: true,
  call: true,
  read: true,
  render: true,
  repeat: true,
  asset: true,
  exception: true,
  observed: true,
  fail: true,
  fixture: true,
  "missing-expression": true,
} satisfies Kinds<Syntax.Expression>

const stepTable = { field: true, index: true, pluck: true, case: true } satisfies Kinds<Syntax.ChainStep>

const typeTable = {
  "type-name": true,
  "type-path": true,
  "type-literal": true,
  enum: true,
  "array-type": true,
  "tuple-type": true,
  "group-type": true,
  "object-type": true,
  maybe: true,
  "map-type": true,
  marked: true,
  "union-type": true,
  variant: true,
  "missing-type": true,
} satisfies Kinds<Syntax.TypeNode>

const operatorTable = {
  "||": true,
  "&&": true,
  "==": true,
  "!=": true,
  "<": true,
  "<=": true,
  ">": true,
  ">=": true,
  contains: true,
  in: true,
  "+": true,
  "-": true,
  "*": true,
  "/": true,
  "%": true,
} satisfies Readonly<Record<Syntax.BinaryOperator, true>>

const expressionKinds = Object.keys(expressionTable).map((kind) => `expression ${kind}`)
const stepKinds = Object.keys(stepTable).map((kind) => `step ${kind}`)
const typeKinds = Object.keys(typeTable).map((kind) => `type ${kind}`)
const invokeKinds = ["call", "read", "render", "repeat"]
const operators = Object.keys(operatorTable)

/** Those of a source. */
export function constructsIn(source: string): Set<string> {
  const found = new Set<string>()
  const { tree } = parse(source)
  for (const declaration of tree.declarations) {
    const { start, end } = declaration.keyword
    found.add(`declaration ${source.slice(start, end)}`)
    walk(declaration, placeOf(declaration), found)
  }
  return found
}

function placeOf(declaration: Syntax.Declaration): string {
  if (declaration.kind !== "import") return declaration.kind
  return declaration.importKind === "tool" && declaration.source.word === "api" ? "http-tool" : declaration.importKind
}

/** Blocks of properties inside of other blocks, by the property or node that they belong to. */
const innerPlaces: Readonly<Record<string, string>> = {
  "use-entry": "use",
  "model-entry": "configured-model",
  asset: "asset",
  read: "read",
  render: "render",
  repeat: "repeat",
}

function walk(node: unknown, place: string, found: Set<string>): void {
  if (Array.isArray(node)) {
    for (const one of node) walk(one, place, found)
    return
  }
  if (typeof node !== "object" || node === null) return
  const one = node as { readonly kind?: string; readonly [name: string]: unknown }
  const { kind = "" } = one
  if (kind in expressionTable) found.add(`expression ${kind}`)
  if (kind in stepTable && "optional" in one) found.add(`step ${kind}`)
  if (kind in typeTable) found.add(`type ${kind}`)
  if (invokeKinds.includes(kind) && one["when"] !== undefined) found.add(`condition of ${kind}`)
  if (kind === "binary") found.add(`operator ${String(one["operator"])}`)
  if (kind === "function") found.add(`function ${(one["name"] as Syntax.Name).text}`)
  let inner = innerPlaces[kind] ?? place
  if (kind === "call") {
    const { base } = one["target"] as Syntax.Chain
    inner = base.kind === "name" && base.text === "workflow" ? "workflow-call" : "call"
  }
  if (kind === "batch-item") inner = String(one["importKind"])
  if (kind === "property") {
    const name = (one["name"] as Syntax.Name).text
    found.add(`property ${name} of ${place}`)
    const value = one["value"] as Syntax.PropertyValue
    inner = value.kind === "context" ? "compact" : value.kind === "file" ? "short-file" : place
    if (value.kind === "configured") inner = name === "verify" ? "hmac" : "configured-model"
    if (value.kind === "properties") inner = name === "repeat" || name === "batch" ? `agent-${name}` : name
  }
  for (const [name, part] of Object.entries(one)) {
    if (name !== "keyword" && name !== "open" && name !== "close" && name !== "colon") walk(part, inner, found)
  }
}

const hosts = "Models of random programs answer without a provider that could ask anybody (src/trust/trust.test.ts)"
const writtenOut = "It is written out: no label can be in it"
const signsIn = "Tools are answered in this process, and nobody signs in to them"
const events = "It starts no run, and what it sends is a stranger's for every wait that does not say otherwise"
const chats = "A chat fills the input as any other caller does"

const scored = "It judges a run that has completed: nothing of the run depends on it"

const released =
  "It stands in the file of a candidate only, and decides which version a run gets: none of what is said in it"

/** Constructs that random programs do not have, each with the reason. */
export const exceptions: Readonly<Record<string, string>> = {
  "expression observed": "It stands in tests of workflows, which do not run in a run",
  "expression fail": "It stands in tests of workflows, which do not run in a run",
  "expression fixture": "It stands in tests of workflows, which do not run in a run",
  "expression missing-expression": "It stands for a syntax error",
  "type missing-type": "It stands for a syntax error",
  "property samples of test": "Tests of workflows do not run in a run",
  "property pass_rate of test": "Tests of workflows do not run in a run",
  "property wire_api of provider": writtenOut,
  "property wire_api of model": writtenOut,
  "property inference of model": writtenOut,
  "property pin of tool": writtenOut,
  "property cached of price": writtenOut,
  "property written of price": writtenOut,
  "property reply_within_seconds of webhook": "The sender gets the output of the run, which no rule is about",
  "property prompt_cache of model": "It decides how a call is made, and none of what is said",
  "property prompt_cache of agent": "It decides how a call is made, and none of what is said",
  "property hosted_tools of model": hosts,
  "property hosted_tools of agent": hosts,
  "property event of webhook": events,
  "property name of webhook-event": events,
  "property key of webhook-event": events,
  "property data of webhook-event": events,
  "property keep_seconds of webhook-event": events,
  "property to of webhook-event": events,
  "property rate of provider": "It decides when a call is made, and none of what is said",
  "property requests_per_minute of rate": writtenOut,
  "property tokens_per_minute of rate": writtenOut,
  "property concurrency of rate": writtenOut,
  "property batch of price": writtenOut,
  "property hosted of price": writtenOut,
  "property cost of limits": "Not every model of a program has a price",
  "property bindings of batch": "Its items have them",
  "property approval of batch": "Its items have it",
  "declaration release": released,
  ...Object.fromEntries(Object.keys(propertyTable.release).map((name) => [`property ${name} of release`, released])),
  "declaration score": scored,
  ...Object.fromEntries(Object.keys(propertyTable.score).map((name) => [`property ${name} of score`, scored])),
  "property outputs of model": "Models that make files answer with bytes; those of the programs answer with text",
  "property system of chat": chats,
  "property files of chat": chats,
  "property media_type of short-file": "The long form has it",
  ...Object.fromEntries(
    ["issuer", "private_key", "key_id", "algorithm", "scopes", "audience", "resource", "client_auth"].map((name) => {
      return [`property ${name} of auth`, signsIn]
    }),
  ),
  ...Object.fromEntries(["prefix", "encoding", "algorithm"].map((name) => [`property ${name} of hmac`, writtenOut])),
  ...Object.fromEntries(
    Object.keys(propertyTable.inference)
      .filter((name) => !["temperature", "max_retries", "output_retries"].includes(name))
      .map((name) => [`property ${name} of inference`, writtenOut]),
  ),
}
