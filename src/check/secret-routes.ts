import { remembered } from "../base/remembered.ts"
import { type Span, firstFrom } from "../source/span.ts"
import type * as Syntax from "../syntax/tree.ts"
import { boundSecrets } from "./bound-secrets.ts"
import type { Program } from "./program.ts"
import { givenTo } from "./destination-inputs.ts"

/** Secrets that a backend gets, and the place in the source that gives them. */
export interface SentSecrets extends Place {
  readonly names: readonly string[]
}

/** Names of secrets; `all` that are declared, since a source may pass thousands of them on at thousands of places. */
export type SecretNames = readonly string[] | "all"

/** A provider, MCP server or API that gets secrets, and whose address or headers refer to `input` or to secrets. */
export interface SecretRoute {
  /** `provider.p`, `mcp.s`, `api.a` */
  readonly backend: string
  /** What decides where its calls go: fields of the input (`input.url`), and names of secrets. */
  readonly inputs: readonly string[]
  readonly destinationInputs: SecretNames
  /** The names of all secrets that it gets: in its own properties, and in the bindings of its tools and resources. */
  readonly sent: SecretNames
  readonly places: readonly SentSecrets[]
}

interface Place {
  readonly path: string
  readonly span: Span
}

/** Every other property that refers to the input or to secrets may decide where a backend's calls go: some gateways choose by a header. */
const steersNothing = "api_key"

/**
 * Where a caller could have secrets sent, by choosing the input or by sending a secret of its own. A caller may send its own secrets
 * anywhere; the server's own must not go where a caller says.
 */
export function secretRoutes(program: Program): readonly SecretRoute[] {
  // A file may be called from many places.
  return remembered(known, program, () => [...ownRoutes(program), ...routesThrough(program)])
}

const known = new WeakMap<Program, readonly SecretRoute[]>()

/** The backends of called files, as far as a request to this one decides where their calls go. */
function routesThrough(program: Program): SecretRoute[] {
  const chains = program.workflows.size === 0 ? [] : chainsOf(program, "input")
  return [...program.workflows].flatMap(([name, { file, declaration, program: called }]) => {
    const inner = secretRoutes(called)
    if (inner.length === 0) return []
    const bound = boundSecrets(declaration)
    const all = called.secrets?.type.fields.map((field) => field.name) ?? []
    const own = (names: SecretNames): string[] => (names === "all" ? all : names).flatMap((one) => bound.get(one) ?? [])
    const fields = givenTo(program, name)
    return inner.flatMap((route) => {
      const given = fields.filter((field) =>
        route.inputs.some((one) => one === "input" || one === `input.${field.name.text}`),
      )
      const inputs = given.flatMap(({ value }) => within(chains, value).map(inputField))
      const [destinationInputs, names] = [own(route.destinationInputs), own(route.sent)]
      if (names.length === 0 || (inputs.length === 0 && destinationInputs.length === 0)) return []
      const places = [{ names, path: `workflow.${name}`, span: declaration.name }]
      return [
        { backend: `${file}#${route.backend}`, inputs: [...new Set(inputs)], destinationInputs, sent: names, places },
      ]
    })
  })
}

function ownRoutes(program: Program): SecretRoute[] {
  const inputs = chainsOf(program, "input")
  const secrets = chainsOf(program, "secrets")
  if (secrets.length === 0) return []
  // One array for every chain that is `secrets` itself: a source may have thousands of such chains, and as many secrets.
  const all = program.secrets?.type.fields.map(({ name }) => name) ?? []
  const namesOf = ({ steps: [first] }: Syntax.Chain): readonly string[] =>
    first?.kind === "field" ? [first.name.text] : all
  const together = (lists: readonly (readonly string[])[]): SecretNames =>
    lists.includes(all) ? "all" : [...new Set(lists.flat())]
  // Made when first needed: all of the source is searched for it.
  let toolPlaces: ReadonlyMap<string, readonly Place[]> | null = null
  const placesOf = (server: string): readonly Place[] => {
    toolPlaces ??= placesByServer(program)
    return toolPlaces.get(server) ?? []
  }

  const routeOf = (
    backend: string,
    body: Syntax.Block<Syntax.Property>,
    more: () => readonly Place[],
  ): SecretRoute | null => {
    const properties = body.items.filter(({ name }) => name.text !== steersNothing)
    const byInput = properties.flatMap((property) => within(inputs, property))
    const bySecret = properties.flatMap((property) => within(secrets, property))
    if (byInput.length === 0 && bySecret.length === 0) return null
    const places = new Map<Syntax.Chain, SentSecrets>()
    for (const { path, span } of [...propertyPlaces(backend, body), ...more()]) {
      for (const chain of within(secrets, span)) {
        if (!places.has(chain)) places.set(chain, { names: namesOf(chain), path, span: chain })
      }
    }
    if (places.size === 0) return null
    return {
      backend,
      inputs: [...new Set(byInput.map(inputField))],
      destinationInputs: together(bySecret.map(namesOf)),
      sent: together([...places.values()].map(({ names }) => names)),
      places: [...places.values()],
    }
  }

  const providers = [...program.providers].map(([name, { body }]) => routeOf(`provider.${name}`, body, () => []))
  const servers = [...program.servers.values(), ...program.apis.values()].map(({ kind, name, body }) => {
    const backend = `${kind}.${name.text}`
    return routeOf(backend, body, () => placesOf(backend))
  })
  return [...providers, ...servers].filter((route) => route !== null)
}

/** In the order of the source. */
function chainsOf(program: Program, kind: "input" | "secrets"): Syntax.Chain[] {
  const chains: Syntax.Chain[] = []
  for (const [chain, root] of program.roots) if (root.kind === kind) chains.push(chain)
  return chains.sort((a, b) => a.start - b.start)
}

/** The sorted chains that begin in a span. */
function within(chains: readonly Syntax.Chain[], { start, end }: Span): readonly Syntax.Chain[] {
  return chains.slice(firstFrom(chains, start), firstFrom(chains, end))
}

function inputField({ steps: [first] }: Syntax.Chain): string {
  return first?.kind === "field" ? `input.${first.name.text}` : "input"
}

/** Each property of a declaration, and each field of those that are blocks of values. */
function propertyPlaces(path: string, body: Syntax.Block<Syntax.Property>): Place[] {
  return body.items.flatMap(({ name, value, start, end }) => {
    const own = `${path}.${name.text}`
    if (value.kind !== "values") return [{ path: own, span: { start, end } }]
    return value.block.items.map((field) => ({ path: `${own}.${field.name.text}`, span: field }))
  })
}

/** The imports from each server, and every use and call of them. */
function placesByServer(program: Program): ReadonlyMap<string, readonly Place[]> {
  const places = new Map<string, Place[]>()
  const servers = new Map<string, string>()
  const add = (server: string, ...more: Place[]): void => {
    const known = places.get(server)
    if (known === undefined) places.set(server, more)
    else for (const place of more) known.push(place)
  }
  const tables = { tool: program.tools, resource: program.resources } as const
  for (const [kind, table] of Object.entries(tables)) {
    for (const [name, symbol] of table) {
      const path = `${kind}.${name}`
      const server = `${symbol.origin}.${symbol.server?.text ?? ""}`
      servers.set(path, server)
      if (symbol.node.body !== undefined) add(server, ...propertyPlaces(path, symbol.node.body))
      const shared = symbol.batch?.body.items.filter((item) => item.kind === "property") ?? []
      for (const property of shared) add(server, { path: `${path}.${property.name.text}`, span: property })
    }
  }
  if (servers.size > 0)
    eachUse(program.tree, servers, (path, span) => add(servers.get(path) ?? "", { path: `${path}.bindings`, span }))
  return places
}

/** Calls back with each `call`, `read` and entry of `uses` that names one of the imports. */
function eachUse(
  tree: Syntax.Tree,
  imports: ReadonlyMap<string, string>,
  visit: (path: string, span: Span) => void,
): void {
  const open: unknown[] = [...tree.declarations]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (typeof next !== "object" || next === null) continue
    const path = usedImport(next)
    if (path !== null && imports.has(path)) visit(path, next as Span)
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
