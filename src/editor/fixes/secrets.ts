import type { Program } from "../../check/program.ts"
import type { Diagnostic } from "../../source/diagnostic.ts"
import type { Edit } from "../edit.ts"
import { tokenIndexAt } from "../token-at.ts"
import type { Fix } from "./fix.ts"
import { insertAt, replaceWith } from "./fix.ts"

/** Declares a secret and refers to it in place of the literal. The literal is gone then: it has leaked already. */
export function moveToSecrets(program: Program, { span, path }: Diagnostic): readonly Fix[] {
  const { text } = program.tree
  const written = text.slice(span.start, span.end)
  if (!written.startsWith('"') || written.startsWith('"""') || written.includes("{{")) return []
  const taken = new Set(program.secrets?.type.fields.map((field) => field.name))
  const name = freeName(path, taken)
  const [, scheme] = /^"((?:Bearer|Basic|Token|ApiKey)\s+)/i.exec(written) ?? []
  const reference = scheme === undefined ? `secrets.${name}` : `"${scheme}{{ secrets.${name} }}"`
  return [
    {
      title: `Move it to \`secrets.${name}\``,
      edits: [replaceWith(span, reference), declare(program, name)],
      preferred: true,
    },
  ]
}

/** `provider.llm.api_key` → `llm_api_key` unless `api_key` is free. */
function freeName(path: string, taken: ReadonlySet<string>): string {
  const [, owner = "", ...rest] = path.split(".")
  const last = rest.at(-1) ?? ""
  const short = last === "api_key" ? "api_key" : `${owner}_token`
  const names = [short, `${owner}_${last}`.toLowerCase().replace(/[^a-z0-9_]/g, "_")]
  for (let count = 2; ; count++) {
    const free = names.find((name) => /^[A-Za-z_]\w*$/.test(name) && !taken.has(name))
    if (free !== undefined) return free
    names.push(`secret_${count}`)
  }
}

function declare(program: Program, name: string): Edit {
  const block = program.secrets?.declaration.body
  if (block === undefined) {
    return insertAt(firstDeclaration(program), `secrets {\n    ${name}: string\n}\n\n`)
  }
  const last = block.items.at(-1)
  const { text } = program.tree
  const inLine = !/[\n\r]/.test(text.slice(block.open.end, block.close?.start ?? block.end))
  if (last === undefined) return insertAt(block.open.end, ` ${name}: string `)
  return insertAt(last.end, inLine ? `, ${name}: string` : `\n    ${name}: string`)
}

/** Where the first declaration begins, with its doc comment. */
function firstDeclaration({ tree }: Program): number {
  const start = tree.declarations[0]?.start ?? 0
  const comments = tree.tokens[tokenIndexAt(tree, start)]?.comments ?? []
  return comments.find(({ style }) => style === "doc")?.start ?? start
}
