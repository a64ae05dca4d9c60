import { isShared } from "../check/check-files.ts"
import { isForeign } from "../check/file-space.ts"
import type { Program } from "../check/program.ts"
import type { Diagnostic } from "../source/diagnostic.ts"
import type { Span } from "../source/span.ts"
import { eachName } from "./each-name.ts"
import { importedTarget } from "./imported-target.ts"
import { linkedNodes } from "./linked-nodes.ts"
import type { NameUse } from "./name-use.ts"
import type { Occurrence } from "./references.ts"
import { targetsOf, type Target } from "./targets.ts"
import { useAt } from "./use-at.ts"

// A declaration of a library, or a field of it, is named in the files that import it, too. In those it is a copy, whose spans say where it
// is written: that place, a file and an offset, is its identity in all of them.

/** Files that use each other, as an editor has them. */
export interface EditedFiles {
  /** A file as it is checked among the others; undefined where there is none. */
  checked(file: string): { readonly program: Program; readonly diagnostics: readonly Diagnostic[] } | undefined
  /** The files that lead to a file. */
  users(file: string): readonly string[]
  /** The same files with other texts in place of some. */
  with(texts: ReadonlyMap<string, string>): EditedFiles
}

export interface FileOccurrence extends Occurrence {
  readonly file: string
  readonly program: Program
}

export interface FoundAcross {
  readonly use: NameUse
  readonly target: Target
  readonly occurrences: readonly FileOccurrence[]
  /** All files that were looked at. */
  readonly files: ReadonlySet<string>
}

/** Where a name is written: a file and an offset. */
interface Place {
  readonly file: string
  readonly start: number
}

/** What the name at the offset refers to, if other files may name it, too. */
export function sharedTarget(program: Program, offset: number): { use: NameUse; target: Target } | undefined {
  const use = useAt(program, offset)
  const [target] = use === undefined ? [] : targetsIn(program, use)
  if (use === undefined || target === undefined) return undefined
  const isNamed = target.kind === "declaration" && isShared(target.declares)
  return isNamed || target.kind === "field" || target.kind === "case" || target.kind === "tag"
    ? { use, target }
    : undefined
}

/** Whether the name at the offset is declared in another file. */
export function isDeclaredElsewhere(program: Program, target: Target): boolean {
  return placeOf(program, target).file !== program.files.file
}

/** All places in all files that name what is named at the offset; undefined where only its own file can name it. */
export function occurrencesAcross(files: EditedFiles, program: Program, offset: number): FoundAcross | undefined {
  const found = sharedTarget(program, offset)
  if (found === undefined) return undefined
  const search = new Search(files)
  search.add(program.files.file)
  search.reach(placeOf(program, found.target))
  const occurrences = search.run()
  return { ...found, occurrences, files: search.files }
}

/** What a name refers to; that of an import's item is what it imports. */
function targetsIn(program: Program, use: NameUse): readonly Target[] {
  if (use.kind !== "imported-name") return targetsOf(program, use)
  const target = importedTarget(program, use.item)
  return target === undefined ? [] : [target]
}

function placeOf(program: Program, target: Target): Place {
  const id = target.kind === "declaration" ? `${target.declares}.${target.name.text}` : ""
  return located(program, program.importedDeclarations.get(id)?.declared ?? target.name)
}

function located(program: Program, name: Span): Place {
  const place = isForeign(name) ? program.files.space.locate(name) : undefined
  return place === undefined
    ? { file: program.files.file, start: name.start }
    : { file: place.file, start: place.span.start }
}

function keyOf({ file, start }: Place): string {
  return `${start} ${file}`
}

/** The names of one file, with the places of what they refer to. */
interface Names {
  readonly program: Program
  readonly uses: readonly { readonly use: NameUse; readonly targets: readonly Target[]; readonly keys: string[] }[]
  /** Fields by where they are written: some that no name in the file refers to hold others together. */
  readonly fields: readonly { readonly target: Target; readonly key: string }[]
}

class Search {
  readonly files = new Set<string>()
  readonly #edited: EditedFiles
  readonly #keys = new Set<string>()
  readonly #names = new Map<string, Names | undefined>()

  constructor(edited: EditedFiles) {
    this.#edited = edited
  }

  add(file: string): void {
    this.files.add(file)
  }

  reach(place: Place): void {
    const key = keyOf(place)
    if (this.#keys.has(key)) return
    this.#keys.add(key)
    this.add(place.file)
    for (const user of this.#edited.users(place.file)) this.add(user)
  }

  /** Fields that must have the same name may be written in several files: the search goes on until it finds no more. */
  run(): FileOccurrence[] {
    for (let before = -1; before !== this.#keys.size;) {
      before = this.#keys.size
      // Grows while it is walked.
      for (const file of this.files) this.#link(file)
    }
    return [...this.files].flatMap((file) => this.#occurrencesIn(file))
  }

  #link(file: string): void {
    const names = this.#namesOf(file)
    if (names === undefined) return
    for (const node of linkedNodes(names.program, this.#seeds(names), names.uses).nodes) {
      const name = nameOf(node)
      if (name !== undefined) this.reach(located(names.program, name))
    }
  }

  #seeds({ uses, fields }: Names): Target[] {
    const named = uses.flatMap(({ targets, keys }) => targets.filter((_, at) => this.#keys.has(keys[at] ?? "")))
    const written = fields.filter(({ key }) => this.#keys.has(key)).map(({ target }) => target)
    // Declarations are linked to nothing else, and a copy of one that another name stands for is not looked for.
    return [...named, ...written].filter(({ kind }) => kind !== "declaration" && kind !== "variable")
  }

  #occurrencesIn(file: string): FileOccurrence[] {
    const names = this.#namesOf(file)
    if (names === undefined) return []
    const { program, uses } = names
    const found: FileOccurrence[] = []
    for (const { use, targets, keys } of uses) {
      const at = keys.findIndex((key) => this.#keys.has(key))
      const target = targets[at]
      if (target === undefined) continue
      const declares = keys[at] === keyOf({ file, start: use.start })
      found.push({ file, program, use, target, declares, start: use.start, end: use.end })
    }
    const seeds = this.#seeds(names)
    const [first] = seeds
    if (first === undefined) return found
    for (const { start, end } of linkedNodes(program, seeds, uses).strings) {
      if (!isForeign({ start, end })) {
        found.push({ file, program, use: undefined, target: first, declares: false, start, end })
      }
    }
    return found
  }

  #namesOf(file: string): Names | undefined {
    if (!this.#names.has(file)) this.#names.set(file, namesIn(this.#edited.checked(file)?.program))
    return this.#names.get(file)
  }
}

function namesIn(program: Program | undefined): Names | undefined {
  if (program === undefined) return undefined
  const uses: Names["uses"][number][] = []
  eachName(program, (use) => {
    const targets = targetsIn(program, use)
    if (targets.length > 0) uses.push({ use, targets, keys: targets.map((one) => keyOf(placeOf(program, one))) })
  })
  const fields = [...program.fieldNodes.values()].map((node) => {
    const target: Target = { kind: "field", node, name: node.name }
    return { target, key: keyOf(located(program, node.name)) }
  })
  return { program, uses, fields }
}

/** The name of a field, a case or a variant, whose tag has one. */
function nameOf(node: object): Span | undefined {
  if ("tag" in node) return node.tag as Span
  return "name" in node ? (node.name as Span) : undefined
}
