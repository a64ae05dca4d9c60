import type { Program } from "../../check/program.ts"
import type { Edit } from "../edit.ts"
import { tokenIndexAt } from "../token-at.ts"
import { insertAt } from "./fix.ts"

/** Adds a field to the `input` or the `secrets` block, and the block where there is none. */
export function declareField(program: Program, kind: "input" | "secrets", name: string, type: string): Edit {
  const block = program[kind]?.declaration.body
  if (block === undefined) {
    const { declarations } = program.tree
    const own = declarations.find((one) => one.kind !== "file-import") ?? declarations[0]
    return insertAt(startOf(program, own?.start ?? 0), `${kind} {\n    ${name}: ${type}\n}\n\n`)
  }
  const last = block.items.at(-1)
  const inLine = !/[\n\r]/.test(program.tree.text.slice(block.open.end, block.close?.start ?? block.end))
  if (last === undefined) return insertAt(block.open.end, ` ${name}: ${type} `)
  return insertAt(last.end, inLine ? `, ${name}: ${type}` : `\n    ${name}: ${type}`)
}

/** Where a declaration begins, with its doc comment. */
function startOf({ tree }: Program, start: number): number {
  const comments = tree.tokens[tokenIndexAt(tree, start)]?.comments ?? []
  return comments.find(({ style }) => style === "doc")?.start ?? start
}
