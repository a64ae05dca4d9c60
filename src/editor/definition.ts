import { isForeign, type FilePlace } from "../check/file-space.ts"
import type { Program } from "../check/program.ts"
import type { Span } from "../source/span.ts"
import { importedTarget } from "./imported-target.ts"
import { targetsOf, type Target } from "./targets.ts"
import { codePlace, type CodePlace } from "./code-places.ts"
import type { NameUse } from "./name-use.ts"
import { useAt } from "./use-at.ts"

export interface Definition {
  /** The name that was asked about. */
  readonly span: Span
  readonly targets: readonly DefinitionTarget[]
}

export interface DefinitionTarget {
  /** The name where it is declared. */
  readonly name: Span
  /** All of the declaration. */
  readonly span: Span
  /** Where that is another file: its path from the root, and its text. */
  readonly file?: Omit<FilePlace, "span">
}

/** Where the name at the offset is declared; for a name in a declaration, the declaration itself. */
export function definition(program: Program, offset: number): Definition | undefined {
  const use = useAt(program, offset)
  if (use === undefined) return undefined
  const imported = use.kind === "imported-name" ? importedTarget(program, use.item) : undefined
  const all = imported === undefined ? targetsOf(program, use) : [imported]
  // A function of a code file: the code. From there an editor leads back to the declaration.
  const code = codeAt(program, use)
  if (code !== undefined) {
    const { file, text, span } = code
    return { span: { start: use.start, end: use.end }, targets: [{ name: span, span, file: { file, text } }] }
  }
  // In `for { path } in …` the variable is declared at the name itself: the field that it holds is of more use.
  const targets = use.kind === "pattern-field" && all.length > 1 ? all.slice(1) : all
  if (targets.length === 0) return undefined
  return {
    span: { start: use.start, end: use.end },
    targets: targets.map((target) => placed(program, target)),
  }
}

function codeAt(program: Program, use: NameUse): CodePlace | undefined {
  const isFunction = use.kind === "function" || (use.kind === "declaration" && use.declares === "function")
  const code = isFunction ? program.functions.get(use.text)?.code : undefined
  return code && codePlace(code)
}

/** In the file that declares it, whatever imports it. */
function placed(program: Program, target: Target): DefinitionTarget {
  const id = target.kind === "declaration" ? `${target.declares}.${target.name.text}` : ""
  const name = program.importedDeclarations.get(id)?.declared ?? spanOf(target.name)
  const place = isForeign(name) ? program.files.space.locate(name) : undefined
  if (place === undefined) return { name, span: spanOf(target.node) }
  const { file, text, span } = place
  return { name: span, span, file: { file, text } }
}

function spanOf({ start, end }: Target["name"] | Target["node"]): Span {
  return { start, end }
}
