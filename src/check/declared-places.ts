import type { Program } from "./program.ts"
import type { Span } from "../source/span.ts"
import type { Declaration, Property } from "../syntax/tree.ts"
import type { Type } from "../types/types.ts"

/** A node of the plan as its declaration has it. */
export interface DeclaredStep {
  readonly span: Span
  readonly type: Type
  readonly doc?: string
  /** The text of its `when`. */
  readonly condition?: string
}

/** Nodes of the plan (`agent.x`, `ask.x`, `wait.w`, `dynamic.y`, `output`) by id. */
export type DeclaredSteps = ReadonlyMap<string, DeclaredStep>

/** Where declarations and their properties stand, by path: `agent.writer`, `agent.writer.limits.cost`, `agent.post.require[1]`. */
export type RunSlots = ReadonlyMap<string, Span>

export function stepsOf({ agents, asks, waits, dynamics, output, tree }: Program): DeclaredSteps {
  const steps = new Map<string, DeclaredStep>()
  for (const [kind, symbols] of [["agent", agents] as const, ["ask", asks] as const, ["wait", waits] as const]) {
    for (const [name, { declaration, type }] of symbols) {
      const { doc, when } = declaration
      steps.set(`${kind}.${name}`, {
        span: onlySpan(declaration),
        type,
        ...(doc !== undefined && { doc }),
        ...(when !== undefined && { condition: tree.text.slice(when.condition.start, when.condition.end) }),
      })
    }
  }
  for (const [name, { field, type }] of dynamics) steps.set(`dynamic.${name}`, { span: onlySpan(field), type })
  if (output !== undefined) steps.set("output", { span: onlySpan(output.declaration), type: output.type })
  return steps
}

/** The node of the plan whose declaration has this place in it. */
export function nodeAt(steps: DeclaredSteps, at: number): string | undefined {
  for (const [id, { span }] of steps) if (span.start <= at && at <= span.end) return id
  return undefined
}

/** The narrowest place that a path (`agent.writer[3].limits.cost`) names. */
export function pathSpan(places: RunSlots, path: string): Span | undefined {
  const own = places.get(path)
  if (own !== undefined) return own
  const names = path.replace(/\[\d+\]/g, "").split(".")
  for (let count = names.length; count > 0; count--) {
    const found = places.get(names.slice(0, count).join("."))
    if (found !== undefined) return found
  }
  return undefined
}

export function placesOf(program: Program): RunSlots {
  const places = new Map<string, Span>()
  const add = (path: string, declaration: Declaration | Part | undefined): void => {
    if (declaration === undefined) return
    places.set(path, headOf(declaration))
    addParts(places, path, declaration)
  }
  const named = {
    agent: mapped(program.agents, ({ declaration }) => declaration),
    ask: mapped(program.asks, ({ declaration }) => declaration),
    dynamic: mapped(program.dynamics, ({ field }) => field),
    provider: mapped(program.providers, (own) => own),
    model: mapped(program.models, (own) => own),
    mcp: mapped(program.servers, (own) => own),
    schema: mapped(program.schemas, (own) => own),
    tool: mapped(program.tools, ({ node }) => node),
    resource: mapped(program.resources, ({ node }) => node),
    prompt: mapped(program.prompts, ({ node }) => node),
  }
  for (const [kind, declarations] of Object.entries(named)) {
    for (const [name, declaration] of declarations) add(`${kind}.${name}`, declaration)
  }
  add("input", program.input?.declaration)
  add("secrets", program.secrets?.declaration)
  add("output", program.output?.declaration)
  add("limits", program.limits)
  return places
}

function mapped<T>(
  symbols: ReadonlyMap<string, T>,
  of: (symbol: T) => Declaration | Part,
): (readonly [string, Declaration | Part])[] {
  return [...symbols].map(([name, symbol]) => [name, of(symbol)] as const)
}

/** The first of several with one name counts; requirements, which all have the same one, are counted. */
function addParts(places: Map<string, Span>, path: string, whole: Declaration | Part): void {
  let requirements = 0
  for (const part of partsOf(whole)) {
    if (part.name === undefined) continue
    const { text } = part.name
    if (text === "require") places.set(`${path}.require[${requirements++}]`, onlySpan(part))
    const at = `${path}.${text}`
    if (places.has(at)) continue
    places.set(at, onlySpan(part))
    addParts(places, at, part)
  }
}

type Part = Span & { readonly name?: Property["name"]; readonly value?: object }

/** What stands inside of a declaration or of a property with a block. */
function partsOf(whole: Declaration | Part): readonly Part[] {
  if ("body" in whole) return whole.body?.items ?? []
  const block = whole.value !== undefined && "block" in whole.value ? whole.value.block : undefined
  // What else is called a block, such as that of a string, has no items.
  return typeof block === "object" && block !== null && "items" in block ? (block.items as readonly Part[]) : []
}

/** The line of a declaration's name, not its whole block. */
function headOf(declaration: Declaration | Part): Span {
  const name = "name" in declaration ? declaration.name : undefined
  if (name !== undefined) return { start: declaration.start, end: name.end }
  return onlySpan("keyword" in declaration ? declaration.keyword : declaration)
}

/** The place alone: a whole tree hangs on a declaration. */
export function onlySpan({ start, end }: Span): Span {
  return { start, end }
}
