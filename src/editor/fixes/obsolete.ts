import type { Program } from "../../check/program.ts"
import type { Diagnostic } from "../../source/diagnostic.ts"
import type * as Syntax from "../../syntax/tree.ts"
import { useAt } from "../use-at.ts"
import { insertAt, replaceWith, type Fix } from "./fix.ts"
import { withoutItem } from "./remove.ts"

/** Old spellings, written as they are now. */
export function fixObsolete(program: Program, { span, hint = "" }: Diagnostic): readonly Fix[] {
  const use = useAt(program, span.start)
  const { declaration } = use ?? {}
  if (declaration?.kind === "provider" && (use?.kind === "declaration" || use?.text === "driver")) {
    return [providerKind(program, declaration)]
  }
  const [, now] = /^Write `([^`…]+)`\.$/.exec(hint) ?? []
  if (use?.kind !== "property" || now === undefined) return []
  const { value } = use.property
  if (value.kind === "context") {
    const agent = program.tree.text.slice(value.reference.start, value.block?.end ?? value.reference.end)
    const kept = agent === "" || value.compact === undefined ? agent : `compact ${agent}`
    return [
      {
        title: `Write \`${now}\``,
        edits: [replaceWith(use.property, `context: ${kept === "" ? "agent.name" : kept}`)],
        preferred: true,
      },
    ]
  }
  // `prompt:` is now `instruction:`; other properties are written anew as a whole.
  const isName = now.endsWith(":")
  const edit = isName ? replaceWith(span, now.slice(0, -1)) : replaceWith(use.property, now)
  return [{ title: `Write \`${now}\``, edits: [edit], preferred: true }]
}

/** `provider x { driver: … }` is now `provider x from openai { }`. */
function providerKind(program: Program, declaration: Syntax.ProviderDeclaration): Fix {
  const driver = declaration.body.items.find(({ name }) => name.text === "driver")
  const edits = declaration.providerKind === undefined ? [insertAt(declaration.name.end, " from openai")] : []
  if (driver !== undefined) edits.push(withoutItem(program.tree.text, driver))
  return { title: "Write `from openai`", edits, preferred: true }
}
