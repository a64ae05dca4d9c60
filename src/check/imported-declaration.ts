import { remembered } from "../base/remembered.ts"
import type { Token } from "../syntax/token.ts"
import type * as Syntax from "../syntax/tree.ts"
import { isForeign } from "./file-space.ts"
import { isFunction } from "./function-table.ts"
import type { FunctionSymbol, ImportSymbol, Program } from "./program.ts"
import { eachPathIn } from "./schema-fields.ts"

// A declaration of another file becomes one of this file: a copy with the names that things have here, and with spans of the file
// that it comes from. All that comes after (types, labels, routes of secrets, the plan) sees ordinary declarations.

/** A declaration of one of the shared kinds as the tables have it. */
export type SharedNode =
  | Syntax.SchemaDeclaration
  | Syntax.ProviderDeclaration
  | Syntax.ModelDeclaration
  | Syntax.McpDeclaration
  | Syntax.ApiDeclaration
  | Syntax.ImportDeclaration
  | Syntax.BatchDeclaration
  | Syntax.FunctionDeclaration

/** Names of the copy. */
export interface ImportedNames {
  /** The name here of what the declaration refers to. */
  readonly of: (kind: Syntax.SharedKind, name: string) => string
  /** The secret here; null for one that is left out, whose value is null. */
  readonly secret: (name: string) => string | null
  /** All secrets of the other file, for a value that is `secrets` itself. */
  readonly secrets: readonly string[]
}

type SharedTable = ReadonlyMap<
  string,
  | Exclude<SharedNode, Syntax.ImportDeclaration | Syntax.BatchDeclaration | Syntax.FunctionDeclaration>
  | ImportSymbol
  | FunctionSymbol
>

/** What a program has of one kind, by name. */
export function tableOf(program: Program, kind: Syntax.SharedKind): SharedTable {
  const { schemas, providers, models, servers, apis, tools, resources, prompts, functions } = program
  return {
    schema: schemas,
    provider: providers,
    model: models,
    mcp: servers,
    api: apis,
    tool: tools,
    resource: resources,
    prompt: prompts,
    function: functions,
  }[kind]
}

/** The declaration of a program under a name; of an item of a batch, the batch with this item alone. */
export function sharedNode(program: Program, kind: Syntax.SharedKind, name: string): SharedNode | undefined {
  const found = tableOf(program, kind).get(name)
  if (found !== undefined && "declaration" in found) return found.declaration
  if (found === undefined || !("node" in found)) return found
  const { node, batch } = found
  if (node.kind === "import" || batch === undefined) return node.kind === "import" ? node : undefined
  const items = batch.body.items.filter((item) => item === node || item.kind === "property")
  return { ...batch, body: { ...batch.body, items } }
}

/** Calls back with every chain in a part of the tree. */
export function eachChainIn(part: unknown, visit: (chain: Syntax.Chain) => void): void {
  eachPart(part, (one) => {
    if (one["kind"] === "chain") visit(one as unknown as Syntax.Chain)
  })
}

const referred = new WeakMap<object, readonly (readonly [Syntax.SharedKind, string])[]>()

/** The declarations that one refers to, by kind and name. */
export function referredTo(node: SharedNode): readonly (readonly [Syntax.SharedKind, string])[] {
  return remembered(referred, node, () => {
    const found: (readonly [Syntax.SharedKind, string])[] = []
    if (node.kind === "model" && node.provider !== undefined) found.push(["provider", node.provider.text])
    if ((node.kind === "import" || node.kind === "batch") && node.source.server !== undefined) {
      found.push([node.source.word, node.source.server.text])
    }
    const visitCall = ({ name, receiver }: Syntax.FunctionNode): void => {
      if (receiver === undefined && !isFunction(name.text)) found.push(["function", name.text])
    }
    const visit = ({ segments: [root, name] }: TypePath): void => {
      if (root?.text === "schema" && name !== undefined) found.push(["schema", name.text])
    }
    if (node.kind === "schema") eachPathIn(node, visit)
    else {
      eachPart(node, (part) => {
        if (part["kind"] === "type-path") visit(part as unknown as TypePath)
        else if (part["kind"] === "function") visitCall(part as unknown as Syntax.FunctionNode)
      })
    }
    return found
  })
}

/** Visits each object of a part of the tree. */
export function eachPart(part: unknown, visit: (part: Readonly<Record<string, unknown>>) => unknown): void {
  if (typeof part !== "object" || part === null) return
  const parts = part as Readonly<Record<string, unknown>>
  visit(parts)
  for (const key in parts) if (key !== "comments") eachPart(parts[key], visit)
}

/** The copy under a name. `shift` is added to every offset that is not one of another file already. */
export function importedDeclaration<Node extends SharedNode>(
  node: Node,
  name: Syntax.Name,
  shift: number,
  names: ImportedNames,
): Node
export function importedDeclaration(
  node: SharedNode,
  name: Syntax.Name,
  shift: number,
  names: ImportedNames,
): SharedNode {
  const copy = copied(node, shift, names)
  switch (copy.kind) {
    case "batch": {
      const items = copy.body.items.map((item) => {
        return item.kind === "batch-item" ? { ...item, name, naming: "as" as const } : item
      })
      return { ...copy, body: { ...copy.body, items } }
    }
    case "import":
      return { ...copy, name, naming: "from" }
    default:
      return { ...copy, name }
  }
}

function copied(node: SharedNode, shift: number, names: ImportedNames): SharedNode {
  const copy = copyOf(node, shift, names) as SharedNode
  switch (copy.kind) {
    case "model": {
      const { provider } = copy
      return provider === undefined
        ? copy
        : { ...copy, provider: { ...provider, text: names.of("provider", provider.text) } }
    }
    case "import":
    case "batch": {
      const { server, word } = copy.source
      if (server === undefined) return copy
      return { ...copy, source: { ...copy.source, server: { ...server, text: names.of(word, server.text) } } }
    }
    default:
      return copy
  }
}

function copyOf(part: unknown, shift: number, names: ImportedNames): unknown {
  if (typeof part !== "object" || part === null) return part
  if (Array.isArray(part)) return part.map((one: unknown) => copyOf(one, shift, names))
  const copy = { ...part } as Record<string, unknown>
  for (const key in copy) {
    const value = copy[key]
    if (typeof value === "number") {
      const isOffset = (key === "start" || key === "end") && !isForeign({ start: value, end: value })
      if (isOffset) copy[key] = value + shift
    } else if (typeof value === "object" && value !== null) {
      copy[key] = key === "comments" ? [] : copyOf(value, shift, names)
    }
  }
  if (copy["kind"] === "function") return renamedCall(copy as unknown as Syntax.FunctionNode, names)
  if (copy["kind"] === "type-path") return renamedType(copy as unknown as TypePath, names)
  return copy["kind"] === "chain" ? renamedSecret(copy as unknown as Syntax.Chain, names) : copy
}

/** A call of a function of the other file, under the name that it has here. */
function renamedCall(node: Syntax.FunctionNode, names: ImportedNames): Syntax.FunctionNode {
  const { name, receiver } = node
  if (receiver !== undefined || isFunction(name.text)) return node
  return { ...node, name: { ...name, text: names.of("function", name.text) } }
}

type TypePath = Syntax.TypeNode & { kind: "type-path" }

function renamedType(node: TypePath, names: ImportedNames): TypePath {
  const [root, name, ...fields] = node.segments
  if (root?.text !== "schema" || name === undefined) return node
  return { ...node, segments: [root, { ...name, text: names.of("schema", name.text) }, ...fields] }
}

/** `secrets.key` under the name that it has here. */
function renamedSecret(chain: Syntax.Chain, names: ImportedNames): Syntax.Expression {
  const { base, steps, start, end } = chain
  const [first, ...others] = steps
  if (base.kind !== "name" || base.text !== "secrets") return chain
  if (first?.kind !== "field") return allSecrets(chain, base, names)
  const own = names.secret(first.name.text)
  if (own === null) return { kind: "word", value: null, start, end }
  return { ...chain, steps: [{ ...first, name: { ...first.name, text: own } }, ...others] }
}

/** An object with the secrets of the other file, and no more of those that this file has. */
function allSecrets(chain: Syntax.Chain, base: Syntax.Name, names: ImportedNames): Syntax.Expression {
  const { start, end } = chain
  const items = names.secrets.map((text): Syntax.ValueField => {
    const name: Syntax.Name = { kind: "name", text, quoted: false, start, end }
    const one: Syntax.Chain = { ...chain, steps: [{ kind: "field", name, optional: false, start, end }] }
    const value = renamedSecret(one, names)
    return { kind: "value-field", name, colon: undefined, value, doc: undefined, start, end }
  })
  const open: Token = { kind: "{", start, end, afterBreak: false, comments: [], unclosed: false }
  const whole: Syntax.Expression = { kind: "object", body: { open, close: open, items, start, end }, start, end }
  if (chain.steps.length === 0) return whole
  return { kind: "chain", base: { ...whole, start: base.start, end: base.end }, steps: chain.steps, start, end }
}
