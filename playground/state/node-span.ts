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

/** The narrowest place that a path (`agent.writer[3].limits.cost`) names. */
export function pathSpan(program: Program, path: string): Span | undefined {
  const [, step, index] = /^((?:agent|ask)\.\w+)\.require\[(\d+)\]$/.exec(path) ?? []
  if (step !== undefined) return requirementSpan(program, step, Number(index)) ?? pathSpan(program, step)
  const [head = "", ...parts] = path.replace(/\[\d+\]/g, "").split(".")
  const name = ["output", "input", "secrets", "limits"].includes(head) ? "" : (parts.shift() ?? "")
  const declaration = declarationOf(program, head, name)
  if (declaration === undefined) return undefined
  let found: Part | undefined
  for (const part of parts) {
    const inner: Part | undefined = partsOf(found ?? declaration).find((item) => item.name?.text === part)
    if (inner === undefined) break
    found = inner
  }
  return found ?? headOf(declaration)
}

/** `agent.post.require[1]`: the second requirement of the step. */
function requirementSpan(program: Program, step: string, index: number): Span | undefined {
  const [kind = "", name = ""] = step.split(".")
  const { body } = (kind === "agent" ? program.agents : program.asks).get(name)?.declaration ?? {}
  return body?.items.filter((item) => item.name.text === "require")[index]
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
    case "limits":
      return program.limits
    default:
      return undefined
  }
}

type Part = Span & { readonly name?: Property["name"]; readonly value?: object }

/** What stands inside of a declaration or of a property with a block. */
function partsOf(whole: Declaration | Part): readonly Part[] {
  if ("body" in whole) return whole.body?.items ?? []
  const { value } = whole
  return value !== undefined && "block" in value ? (value as { block: { items: readonly Part[] } }).block.items : []
}

/** The line of a declaration's name, not its whole block. */
function headOf(declaration: Declaration | Span): Span {
  if ("name" in declaration) return { start: declaration.start, end: declaration.name.end }
  return "keyword" in declaration ? declaration.keyword : declaration
}
