import { isError, type Diagnostic } from "../source/diagnostic.ts"
import { occurrencesAcross, type EditedFiles, type FileOccurrence, type FoundAcross } from "./across-files.ts"
import type { Program } from "../check/program.ts"
import { applyEdits, offsetsAfter, startsAfter, type Edit } from "./edit.ts"
import { misnamed, remoteField, renamed, type Refusal } from "./rename.ts"

export interface FileEdits {
  readonly file: string
  /** Before the edits. */
  readonly text: string
  readonly edits: readonly Edit[]
}

interface Replaced {
  readonly occurrence: FileOccurrence
  /** Undefined for a name that the file has for itself. */
  readonly edit: Edit | undefined
}

/**
 * The edits that rename the thing that is named at the offset in all files; undefined where only its own file can name it. Refused when one
 * of the files would not mean the same afterwards.
 */
export function renameInFiles(
  files: EditedFiles,
  program: Program,
  offset: number,
  newName: string,
): readonly FileEdits[] | Refusal | undefined {
  const found = occurrencesAcross(files, program, offset)
  if (found === undefined || isAlias({ program, ...found })) return undefined
  const { use, target, occurrences } = found
  const name = program.tree.text.slice(use.start, use.end)
  const programs = [...new Set(occurrences.map((one) => one.program))]
  const refused = remoteField(use, occurrences) ?? misnamed(programs, name, newName, target.kind)
  if (refused !== undefined) return refused
  if (newName === name) return []
  const broken = brokenFile(files, found)
  if (broken !== undefined) {
    return { problem: `Fix the errors of ${broken} first: without it, the files that use it cannot be checked.` }
  }
  const replaced = occurrences.map((occurrence): Replaced => {
    return { occurrence, edit: editOf(occurrence, newName) }
  })
  const byFile = Map.groupBy(replaced, ({ occurrence }) => occurrence.file)
  const all = [...byFile].flatMap(([file, ones]): FileEdits[] => {
    const edits = ones.flatMap(({ edit }) => edit ?? [])
    const text = ones[0]?.occurrence.program.tree.text ?? ""
    return edits.length === 0 ? [] : [{ file, text, edits }]
  })
  const problem = changedMeaning(files, found, all, byFile, newName)
  return problem === undefined ? all : { problem }
}

function editOf(occurrence: FileOccurrence, newName: string): Edit | undefined {
  if (isAlias(occurrence)) return undefined
  const { start, end, use } = occurrence
  return use?.declaration.kind === "file-import"
    ? { span: { start, end }, text: newName }
    : renamed(occurrence, newName)
}

/** Whether the name is one that its file gave to what it imports. */
function isAlias({ program, use, target }: Pick<FileOccurrence, "program" | "use" | "target">): boolean {
  if (target.kind !== "declaration" || use === undefined || use.kind === "imported-name") return false
  const item = program.importedDeclarations.get(`${target.declares}.${use.text}`)?.item
  return item !== undefined && item.source !== item.name
}

/** A file with errors that others use: nothing is known about what they take from it. */
function brokenFile(files: EditedFiles, found: FoundAcross): string | undefined {
  return [...found.files].find((file) => {
    return errorsOf(files, file).length > 0 && files.users(file).some((user) => found.files.has(user))
  })
}

function errorsOf(files: EditedFiles, file: string): readonly Diagnostic[] {
  return files.checked(file)?.diagnostics.filter(isError) ?? []
}

/** An error that a file would have after the edits and has not before; undefined if all files mean the same. */
function changedMeaning(
  files: EditedFiles,
  found: FoundAcross,
  all: readonly FileEdits[],
  byFile: ReadonlyMap<string, readonly Replaced[]>,
  newName: string,
): string | undefined {
  const after = files.with(new Map(all.map(({ file, text, edits }) => [file, applyEdits(text, edits)])))
  const editsOf = new Map(all.map(({ file, edits }) => [file, edits]))
  for (const file of found.files) {
    const offsetAfter = offsetsAfter(editsOf.get(file) ?? [])
    const known = new Set(errorsOf(files, file).map(({ code, span }) => `${code} ${offsetAfter(span.start)}`))
    const added = errorsOf(after, file).find(({ code, span }) => !known.has(`${code} ${span.start}`))
    if (added !== undefined) return `With the name \`${newName}\`, in ${file}: ${added.message}.`
  }
  const expected = [...byFile].flatMap(([file, ones]) => placesAfter(file, ones, newName))
  const [first] = expected
  const program = first && after.checked(first.file)?.program
  const now = first && program && occurrencesAcross(after, program, first.start)?.occurrences
  const places = new Set(now?.map(({ file, start }) => `${start} ${file}`))
  const isSame = places.size === expected.length && expected.every(({ file, start }) => places.has(`${start} ${file}`))
  return isSame ? undefined : `\`${newName}\` would stand for something else in some places.`
}

/** Where the names of a file are after the edits; those that are replaced first. */
function placesAfter(file: string, replaced: readonly Replaced[], newName: string): { file: string; start: number }[] {
  const edits = replaced.flatMap(({ edit }) => edit ?? [])
  const offsetAfter = offsetsAfter(edits)
  const starts = startsAfter(edits).map((start, index) => start + (edits[index]?.text.indexOf(newName) ?? 0))
  const kept = replaced.filter(({ edit }) => edit === undefined)
  return [...starts, ...kept.map(({ occurrence }) => offsetAfter(occurrence.start))].map((start) => ({ file, start }))
}
