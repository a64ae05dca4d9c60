import type { Program } from "../../check/program.ts"
import type { Diagnostic } from "../../source/diagnostic.ts"
import type * as Syntax from "../../syntax/tree.ts"
import { useAt } from "../use-at.ts"
import { insertAt, type Fix } from "./fix.ts"
import { withoutItem } from "./remove.ts"

/** A provider without its kind, or with the old `driver`. */
export function fixObsolete(program: Program, { span }: Diagnostic): readonly Fix[] {
  const use = useAt(program, span.start)
  const { declaration } = use ?? {}
  if (declaration?.kind === "provider" && (use?.kind === "declaration" || use?.text === "driver")) {
    return [providerKind(program, declaration)]
  }
  return []
}

/** `provider x { driver: … }` is now `provider x from openai { }`. */
function providerKind(program: Program, declaration: Syntax.ProviderDeclaration): Fix {
  const driver = declaration.body.items.find(({ name }) => name.text === "driver")
  const edits = declaration.providerKind === undefined ? [insertAt(declaration.name.end, " from openai")] : []
  if (driver !== undefined) edits.push(withoutItem(program.tree.text, driver))
  return { title: "Write `from openai`", edits, preferred: true }
}
