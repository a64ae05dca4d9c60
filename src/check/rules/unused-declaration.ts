import type * as Syntax from "../../syntax/tree.ts"
import type { CheckContext } from "../check-context.ts"
import { isForeign } from "../file-space.ts"
import { isLibrary } from "../declare.ts"

/** Every agent and dynamic value runs, referred to or not; this is about the rest. */
export function checkUnused(checking: CheckContext): void {
  const tables: [string, ReadonlyMap<string, { readonly name: Syntax.Name }>][] = [
    ["schema", checking.schemas],
    ["provider", checking.providers],
    ["model", checking.models],
    ["mcp", checking.servers],
    ["api", checking.apis],
    ["tool", checking.tools],
    ["resource", checking.resources],
    ["prompt", checking.prompts],
    ["workflow", checking.workflows],
    ["function", checking.functionNodes],
  ]
  // A declaration whose name is probably misspelt somewhere does not count as unused.
  const meant = new Set(
    checking.diagnostics.flatMap(({ data }) => {
      return data?.kind === "write" || data?.kind === "example" ? data.text.split(/\W+/) : []
    }),
  )
  const library = isLibrary(checking.tree)
  for (const [kind, table] of tables) {
    for (const [name, { name: node }] of table) {
      // It came along with something else.
      if (isForeign(node)) continue
      const id = `${kind}.${name}`
      // A library declares for others.
      if (library && !checking.importedDeclarations.has(id)) continue
      if (isUsed(checking, id, node) || meant.has(name)) continue
      checking.report("unused-declaration", id, node, `Nothing refers to ${id}`, "Remove it, or use it.")
    }
  }
}

/** A schema that only refers to itself is still unused. */
function isUsed(checking: CheckContext, id: string, name: Syntax.Name): boolean {
  const references = checking.references.get(id) ?? []
  if (!id.startsWith("schema.")) return references.length > 0
  const own = checking.schemas.get(name.text)
  return references.some((span) => own === undefined || span.start < own.start || span.end > own.end)
}
