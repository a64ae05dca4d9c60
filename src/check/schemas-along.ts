import { remembered } from "../base/remembered.ts"
import type * as Syntax from "../syntax/tree.ts"
import { importedDeclaration, referredTo } from "./imported-declaration.ts"
import type { ImportedSymbol, Program, SchemaAlong } from "./program.ts"

// Schemas need neither secrets nor the input, so that one that comes along without a name is the same in all files: they share its copy.

/** A file that is used, with the first offset of its text. */
interface UsedProgram {
  readonly file: string
  readonly program: Program
  readonly base: number
}

const ofPrograms = new WeakMap<Program, Map<string, SchemaAlong>>()

/** A schema that a file declares or has taken over, by its name there. */
export function schemaAlong(used: UsedProgram, name: string): SchemaAlong | undefined {
  const { program } = used
  const own = program.schemas.get(name)
  const taken = program.importedDeclarations.get(`schema.${name}`)
  if (taken !== undefined || own === undefined) return taken?.along
  const known = remembered(ofPrograms, program, () => new Map<string, SchemaAlong>())
  return remembered(known, name, () => new Along(used, own))
}

class Along implements SchemaAlong {
  readonly name: string
  readonly node: Syntax.SchemaDeclaration
  readonly symbol: ImportedSymbol
  readonly next: () => readonly SchemaAlong[]
  #all: Set<SchemaAlong> | undefined

  constructor(used: UsedProgram, own: Syntax.SchemaDeclaration) {
    const { file, program, base } = used
    const nameOf = (name: string): string => {
      const origin = program.importedDeclarations.get(`schema.${name}`) ?? { file, name }
      return `${origin.file}#${origin.name}`
    }
    const { text: name, start, end } = own.name
    const declared = { start: start + base, end: end + base }
    this.name = nameOf(name)
    this.symbol = { file, name, declared, item: undefined, along: this }
    this.next = () => referredTo(own).flatMap(([, other]) => schemaAlong(used, other) ?? [])
    this.node = importedDeclaration(own, { kind: "name", text: this.name, quoted: false, ...declared }, base, {
      of: (_, other) => nameOf(other),
      secret: () => null,
      secrets: [],
    })
  }

  all(): ReadonlySet<SchemaAlong> {
    if (this.#all === undefined) {
      this.#all = new Set<SchemaAlong>([this])
      for (const one of this.#all) for (const next of one.next()) this.#all.add(next)
    }
    return this.#all
  }
}
