import type { Program } from "../check/program.ts"
import type { Edit } from "../editor/edit.ts"
import { definition } from "../editor/definition.ts"
import { references } from "../editor/references.ts"
import type { Refusal, Renamable } from "../editor/rename.ts"
import { prepareRename, rename } from "../editor/rename.ts"
import { stepNameAt, stepNamesIn } from "../editor/test-file.ts"
import type { Span } from "../source/span.ts"
import type { TextDocument } from "./text-document.ts"

// A workflow declares a step, and its tests name it too: references and renames reach both files.

interface Source {
  readonly document: TextDocument
  readonly isOpen: boolean
}

export interface PlacedReference extends Span {
  readonly source: Source
  readonly declares: boolean
}

export interface PlacedEdits {
  readonly source: Source
  readonly edits: readonly Edit[]
}

/** What a request is about: a name in one file, and the open tests that may name the same. */
interface Subject {
  readonly source: Source
  readonly program: Program
  readonly offset: number
  readonly tests: readonly TextDocument[]
}

const onlySteps: Refusal = { problem: "In a test only the names of the workflow's steps can be renamed." }

/** Whether the offset is in a `test` block, whose names are mostly declared in the workflow. */
export function inTest(document: TextDocument, offset: number): boolean {
  if (!document.isTest) return false
  const { declarations } = document.compiled.program.tree
  return declarations.some(({ kind, start, end }) => kind === "test" && start <= offset && offset <= end)
}

function subjectOf(document: TextDocument, offset: number, open: readonly TextDocument[]): Subject | undefined {
  const testsOf = (uri: string): TextDocument[] => open.filter((one) => one.compiled.tested?.uri === uri)
  const { program, tested } = document.compiled
  if (!inTest(document, offset)) {
    return { source: { document, isOpen: true }, program, offset, tests: testsOf(document.uri) }
  }
  if (tested === undefined) return undefined
  const { uri, text } = tested
  const found = stepNameAt(program, tested.program, offset)
  if (found === undefined) return undefined
  const workflow = open.find((one) => one.uri === uri)
  const source = { document: workflow ?? document.beside(uri, text), isOpen: workflow !== undefined }
  return { source, program: tested.program, offset: found.target.name.start, tests: testsOf(uri) }
}

/** The places in tests that refer to the subject. */
function usesInTests({ program, offset, tests }: Subject): PlacedReference[] {
  const starts = new Set(definition(program, offset)?.targets.map(({ name }) => name.start))
  return tests.flatMap((document) => {
    const { program: own, tested } = document.compiled
    const source = { document, isOpen: true }
    const names = tested === undefined ? [] : stepNamesIn(own, tested.program)
    return names
      .filter(({ target }) => starts.has(target.name.start))
      .map(({ name }) => ({ source, start: name.start, end: name.end, declares: false }))
  })
}

export function referencesAcross(
  document: TextDocument,
  offset: number,
  open: readonly TextDocument[],
): readonly PlacedReference[] {
  const subject = subjectOf(document, offset, open)
  if (subject === undefined) return []
  const { source, program } = subject
  return [
    ...references(program, subject.offset).map((reference) => ({ ...reference, source })),
    ...usesInTests(subject),
  ]
}

export function prepareRenameAcross(
  document: TextDocument,
  offset: number,
  open: readonly TextDocument[],
): Renamable | Refusal {
  const subject = subjectOf(document, offset, open)
  if (subject === undefined) return onlySteps
  const found = prepareRename(subject.program, subject.offset)
  if ("problem" in found || subject.source.document === document) return found
  const here = usesInTests(subject).find(
    ({ source, start, end }) => source.document === document && start <= offset && offset <= end,
  )
  return here === undefined ? onlySteps : { ...found, span: { start: here.start, end: here.end } }
}

export function renameAcross(
  document: TextDocument,
  offset: number,
  newName: string,
  open: readonly TextDocument[],
): readonly PlacedEdits[] | Refusal {
  const subject = subjectOf(document, offset, open)
  if (subject === undefined) return onlySteps
  const found = rename(subject.program, subject.offset, newName)
  if ("problem" in found) return found
  if (found.edits.length === 0) return []
  const uses = usesInTests(subject)
  const inTests = subject.tests.map((test): PlacedEdits => {
    const own = uses.filter(({ source }) => source.document === test)
    const edits = own.map(({ start, end }) => ({ span: { start, end }, text: newName }))
    return { source: { document: test, isOpen: true }, edits }
  })
  return [{ source: subject.source, edits: found.edits }, ...inTests.filter(({ edits }) => edits.length > 0)]
}
