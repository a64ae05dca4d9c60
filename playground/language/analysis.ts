import type { Program } from "../../src/check/program.ts"
import type { Compiled } from "../../src/compile.ts"
import { folding } from "../../src/editor/folding.ts"
import type { SemanticToken } from "../../src/editor/semantic-tokens.ts"
import { semanticTokens } from "../../src/editor/semantic-tokens.ts"
import type { Plan } from "../../src/plan/plan-shape.ts"
import type { Diagnostic } from "../../src/source/diagnostic.ts"
import type { SourceFiles } from "../../src/source/source-files.ts"
import type { RecordType, TypeTable } from "../../src/types/types.ts"
import type { DeclaredSteps, RunSlots } from "../../src/check/declared-places.ts"
import { placesOf, stepsOf } from "../../src/check/declared-places.ts"

/** A text with the files around it. */
export interface Source extends SourceFiles {
  readonly text: string
}

/** What the page knows about a text: plain data, which also comes from the worker. */
export interface Analysis {
  readonly text: string
  readonly diagnostics: readonly Diagnostic[]
  /** There is one when no diagnostic is an error. */
  readonly plan: Plan | undefined
  readonly types: TypeTable
  readonly input: RecordType | undefined
  readonly secrets: RecordType | undefined
  readonly steps: DeclaredSteps
  readonly places: RunSlots
  /** Start, end and colour of each name: a position in `nameColours`. */
  readonly names: Uint32Array
  /** Start and end of what can be folded. */
  readonly folds: Uint32Array
}

export const nameColours = ["keyword", "type", "root", "property", "declared", "variable", "member"] as const

export function analysisOf({ program, diagnostics, plan }: Compiled): Analysis {
  const { tree, types, input, secrets } = program
  return {
    text: tree.text,
    diagnostics,
    plan,
    types,
    input: input?.type,
    secrets: secrets?.type,
    steps: stepsOf(program),
    places: placesOf(program),
    names: namesOf(program),
    folds: Uint32Array.from(folding(program).flatMap(({ start, end }) => [start, end])),
  }
}

export function isSameSource(one: Source, other: Source): boolean {
  if (one.text !== other.text || one.file !== other.file) return false
  const [own, others] = [Object.entries(one.modules ?? {}), other.modules ?? {}]
  return own.length === Object.keys(others).length && own.every(([path, text]) => others[path] === text)
}

function namesOf(program: Program): Uint32Array {
  return Uint32Array.from(
    semanticTokens(program).flatMap((token) => {
      const colour = nameColours.findIndex((name) => name === colourOf(token))
      return colour < 0 ? [] : [token.start, token.end, colour]
    }),
  )
}

/** The colour of a name; strings, numbers and comments have theirs from the lexer. */
function colourOf({ type, modifiers }: SemanticToken): (typeof nameColours)[number] | null {
  switch (type) {
    case "keyword":
      return "keyword"
    case "type":
      return "type"
    case "namespace":
      return "root"
    case "property":
      return modifiers.includes("defaultLibrary") ? "property" : null
    case "function":
      if (modifiers.includes("defaultLibrary")) return "property"
      return modifiers.includes("declaration") ? "declared" : null
    case "class":
    case "variable":
      return modifiers.includes("declaration") ? "declared" : null
    case "parameter":
      return "variable"
    case "enumMember":
      return "member"
    default:
      return null
  }
}
