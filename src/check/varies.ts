import { eachChain } from "../syntax/each-chain.ts"
import type * as Syntax from "../syntax/tree.ts"
import type { AgentSymbol, Program } from "./program.ts"

/** Whether an expression of a looped agent may differ from item to item: it refers to the item, or calls something. */
export type Varies = (expression: Syntax.Expression) => boolean

/** `roots`: what every chain begins with. */
export function variesIn(roots: Program["roots"], { locals }: Pick<AgentSymbol, "locals">): Varies {
  const known = new Map<string, boolean>()
  const ofLocal = (name: string): boolean => {
    const before = known.get(name)
    if (before !== undefined) return before
    // One that leads back to itself is an error elsewhere.
    known.set(name, true)
    const field = locals.get(name)?.field
    const found = field === undefined || varies(field.value)
    known.set(name, found)
    return found
  }
  const varies: Varies = (expression) => {
    let found = calls(expression)
    eachChain(expression, (chain) => {
      const root = roots.get(chain)
      found ||= root?.kind === "variable" || (root?.kind === "local" && ofLocal(root.name))
    })
    return found
  }
  return varies
}

const callKinds: ReadonlySet<string> = new Set(["call", "read", "render", "repeat"])

function calls(node: unknown): boolean {
  if (typeof node !== "object" || node === null) return false
  if ("kind" in node && typeof node.kind === "string" && callKinds.has(node.kind)) return true
  return Object.values(node).some(calls)
}

/** The expressions of a text up to the first one that differs; `isWhole`: none does. */
export function stableIn(
  text: Syntax.Expression,
  varies: Varies,
): { readonly expressions: readonly Syntax.Expression[]; readonly isWhole: boolean } {
  const parts = text.kind === "string" ? text.interpolations : [text]
  const end = parts.findIndex(varies)
  return end < 0 ? { expressions: parts, isWhole: true } : { expressions: parts.slice(0, end), isWhole: false }
}
