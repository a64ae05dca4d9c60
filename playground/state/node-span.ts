import type { Program } from "../../src/check/program.ts"
import type { Span } from "../../src/source/span.ts"
import type { Declaration, Property } from "../../src/syntax/tree.ts"

/** Where a node of the plan (`agent.x`, `ask.x`, `dynamic.y`, `output`) is declared. */
export function nodeSpan(program: Program, id: string): Span | undefined {
  const name = id.slice(id.indexOf(".") + 1)
  if (id === "output") return program.output?.declaration
  if (id.startsWith("agent.")) return program.agents.get(name)?.declaration
  if (id.startsWith("ask.")) return program.asks.get(name)?.declaration
  if (id.startsWith("dynamic.")) return program.dynamics.get(name)?.field
  return undefined
}

/** The node of the plan whose declaration has this place in it. */
export function nodeAt(program: Program, at: number): string | undefined {
  const has = (span: Span | undefined): boolean => span !== undefined && span.start <= at && at <= span.end
  for (const [name, { declaration }] of program.agents) if (has(declaration)) return `agent.${name}`
  for (const [name, { declaration }] of program.asks) if (has(declaration)) return `ask.${name}`
  for (const [name, { field }] of program.dynamics) if (has(field)) return `dynamic.${name}`
  return has(program.output?.declaration) ? "output" : undefined
}

/** The narrowest place that a dotted path (`agent.writer.instruction`) names. */
export function pathSpan(program: Program, path: string): Span | undefined {
  const [head = "", name = "", third] = path.split(/[.[]/)
  const declaration = declarationOf(program, head, name)
  if (declaration === undefined) return undefined
  const part = head === "output" || head === "input" || head === "secrets" ? name : third
  return (part === undefined ? undefined : partOf(declaration, part)) ?? headOf(declaration)
}

function declarationOf(program: Program, head: string, name: string): Declaration | Span | undefined {
  switch (head) {
    case "agent":
      return program.agents.get(name)?.declaration
    case "ask":
      return program.asks.get(name)?.declaration
    case "dynamic":
      return program.dynamics.get(name)?.field
    case "provider":
      return program.providers.get(name)
    case "model":
      return program.models.get(name)
    case "mcp":
      return program.servers.get(name)
    case "schema":
      return program.schemas.get(name)
    case "tool":
      return program.tools.get(name)?.node
    case "resource":
      return program.resources.get(name)?.node
    case "prompt":
      return program.prompts.get(name)?.node
    case "input":
      return program.input?.declaration
    case "secrets":
      return program.secrets?.declaration
    case "output":
      return program.output?.declaration
    default:
      return undefined
  }
}

function partOf(declaration: Declaration | Span, part: string): Span | undefined {
  if (!("body" in declaration) || declaration.body === undefined) return undefined
  const items: readonly (Span & { readonly name?: Property["name"] })[] = declaration.body.items
  return items.find((item) => item.name?.text === part)
}

/** The line of a declaration's name, not its whole block. */
function headOf(declaration: Declaration | Span): Span {
  if ("name" in declaration) return { start: declaration.start, end: declaration.name.end }
  return "keyword" in declaration ? declaration.keyword : declaration
}
