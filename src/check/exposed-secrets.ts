import { firstFrom } from "../source/first-from.ts"
import type { Span } from "../source/span.ts"
import type * as Syntax from "../syntax/tree.ts"
import type { Program } from "./program.ts"

/** A secret that goes to a backend whose address or headers the input decides. */
export interface ExposedSecret {
  readonly secret: string
  readonly path: string
  readonly span: Span
}

interface Place {
  readonly path: string
  readonly span: Span
}

/**
 * The secrets that a caller could have sent anywhere by choosing the input: those of a provider or MCP server whose
 * `endpoint` or `headers` refer to `input`, and those in the bindings of its tools and resources. A
 * caller may send its own secrets there; the server's own must not go there.
 */
export function exposedSecrets(program: Program): ExposedSecret[] {
  const inputs = chainsOf(program, "input")
  const secrets = chainsOf(program, "secrets")
  if (inputs.length === 0 || secrets.length === 0) return []
  const isSteered = (body: Syntax.Block<Syntax.Property>): boolean =>
    body.items.some(({ name, start, end }) => {
      return (name.text === "endpoint" || name.text === "headers") && within(inputs, { start, end }).length > 0
    })

  const places: Place[] = []
  for (const [name, { body }] of program.providers) {
    if (isSteered(body)) places.push(...propertyPlaces(`provider.${name}`, body))
  }
  const servers = new Set<string>()
  for (const [name, { body }] of program.servers) {
    if (!isSteered(body)) continue
    servers.add(name)
    places.push(...propertyPlaces(`mcp.${name}`, body))
  }
  if (servers.size > 0) places.push(...toolPlaces(program, servers))

  const found = new Map<Syntax.Chain, ExposedSecret[]>()
  for (const { path, span } of places) {
    for (const chain of within(secrets, span)) {
      if (found.has(chain)) continue
      found.set(
        chain,
        secretNames(program, chain).map((secret) => ({ secret, path, span: chain })),
      )
    }
  }
  return [...found.values()].flat()
}

/** In the order of the source. */
function chainsOf(program: Program, kind: "input" | "secrets"): Syntax.Chain[] {
  const chains: Syntax.Chain[] = []
  for (const [chain, root] of program.roots) if (root.kind === kind) chains.push(chain)
  return chains.sort((a, b) => a.start - b.start)
}

/** Those of the sorted chains that begin in a span. */
function within(chains: readonly Syntax.Chain[], { start, end }: Span): readonly Syntax.Chain[] {
  return chains.slice(firstFrom(chains, start), firstFrom(chains, end))
}

function secretNames(program: Program, { steps: [first] }: Syntax.Chain): string[] {
  if (first?.kind === "field") return [first.name.text]
  return program.secrets?.type.fields.map(({ name }) => name) ?? []
}

/** Each property of a declaration, and each field of those that are blocks of values. */
function propertyPlaces(path: string, body: Syntax.Block<Syntax.Property>): Place[] {
  return body.items.flatMap(({ name, value, start, end }) => {
    const own = `${path}.${name.text}`
    if (value.kind !== "values") return [{ path: own, span: { start, end } }]
    return value.block.items.map((field) => ({ path: `${own}.${field.name.text}`, span: field }))
  })
}

/** The imports from these servers, and every use and call of them. */
function toolPlaces(program: Program, servers: ReadonlySet<string>): Place[] {
  const places: Place[] = []
  const imported = new Set<string>()
  const tables = { tool: program.tools, resource: program.resources } as const
  for (const [kind, table] of Object.entries(tables)) {
    for (const [name, symbol] of table) {
      if (!servers.has(symbol.server?.text ?? "")) continue
      imported.add(`${kind}.${name}`)
      const path = `${kind}.${name}`
      if (symbol.node.body !== undefined) places.push(...propertyPlaces(path, symbol.node.body))
      const shared = symbol.batch?.body.items.filter((item) => item.kind === "property") ?? []
      for (const property of shared) places.push({ path: `${path}.${property.name.text}`, span: property })
    }
  }
  if (imported.size > 0) eachUse(program.tree, imported, (path, span) => places.push({ path, span }))
  return places
}

/** Calls back with each `call`, `read` and entry of `uses` that names one of the imports. */
function eachUse(tree: Syntax.Tree, imports: ReadonlySet<string>, visit: (path: string, span: Span) => void): void {
  const open: unknown[] = [...tree.declarations]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (typeof next !== "object" || next === null) continue
    const path = usedImport(next)
    if (path !== null && imports.has(path)) visit(`${path}.bindings`, next as Span)
    for (const inner of Object.values(next)) if (typeof inner === "object" && inner !== null) open.push(inner)
  }
}

function usedImport(node: object): string | null {
  const kind = "kind" in node ? node.kind : undefined
  if (kind === "call" || kind === "read") return importOf((node as Syntax.InvokeNode).target)
  return kind === "use-entry" ? importOf((node as Syntax.UseEntry).reference) : null
}

function importOf({ base, steps: [first] }: Syntax.Chain): string | null {
  return base.kind === "name" && first?.kind === "field" ? `${base.text}.${first.name.text}` : null
}
