import type { Program } from "../check/program.ts"
import type * as Syntax from "../syntax/tree.ts"
import type { DeclarationKind, DeclaredNode } from "./name-use.ts"
import { importsOf, type Target } from "./targets.ts"

/** The declaration of another file that an item of an import names, as it is here. */
export function importedTarget(
  program: Program,
  { word, name }: Syntax.FileImportItem,
): (Target & { kind: "declaration" }) | undefined {
  const found = (declares: DeclarationKind, node: DeclaredNode | undefined) =>
    node && ({ kind: "declaration", declares, node, name: node.name } as const)
  const kind = word.text
  switch (kind) {
    case "schema":
      return found(kind, program.schemas.get(name.text))
    case "provider":
      return found(kind, program.providers.get(name.text))
    case "model":
      return found(kind, program.models.get(name.text))
    case "mcp":
      return found(kind, program.servers.get(name.text))
    case "api":
      return found(kind, program.apis.get(name.text))
    case "tool":
    case "resource":
    case "prompt":
      return found(kind, importsOf(program, kind).get(name.text)?.node)
    case "function":
      return found(kind, program.functions.get(name.text)?.declaration)
    default:
      return undefined
  }
}
