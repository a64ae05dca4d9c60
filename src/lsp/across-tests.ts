import type { Program } from "../check/program.ts"
import type { Edit } from "../editor/edit.ts"
import { definition } from "../editor/definition.ts"
import { references } from "../editor/references.ts"
import { prepareRename, rename, type Refusal, type Renamable } from "../editor/rename.ts"
import { stepNameAt, stepNamesIn } from "../editor/test-file.ts"
import type { Span } from "../source/span.ts"
import type { TextDocument } from "./text-document.ts"

// A workflow declares a step, and its tests name it too: references and renames reach both files.

export interface Source {
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

/** The documents that a request may be about besides its own. */
export interface Others {
  readonly open: readonly TextDocument[]
  /** Test files that are not open and have a name in them; of the folders of the workspace, and of the workflow's. */
  readonly closedTests: (workflow: string, name: string) => readonly TextDocument[]
}

/** What a request is about: a name in one file, and the tests that may name the same. */
interface Subject {
  readonly source: Source
  readonly program: Program
  readonly offset: number
  readonly tests: readonly Source[]
}

const onlySteps: Refusal = { problem: "In a test only the names of the workflow's steps can be renamed." }

/** Whether the offset is in a `test` block, whose names are mostly declared in the workflow. */
export function inTest(document: TextDocument, offset: number): boolean {
  if (!document.isTest) return false
  const { declarations } = document.compiled.program.tree
  return declarations.some(({ kind, start, end }) => kind === "test" && start <= offset && offset <= end)
}

function subjectOf(document: TextDocument, offset: number, { open, closedTests }: Others): Subject | undefined {
  const testsOf = (uri: string, name: string | undefined): Source[] => [
    ...open.filter((one) => one.compiled.tested?.uri === uri).map((one) => ({ document: one, isOpen: true })),
    ...(name === undefined ? [] : closedTests(uri, name).map((one) => ({ document: one, isOpen: false }))),
  ]
  const { program, tested } = document.compiled
  if (!inTest(document, offset)) {
    const [target] = definition(program, offset)?.targets ?? []
    const name = target && program.tree.text.slice(target.name.start, target.name.end)
    return { source: { document, isOpen: true }, program, offset, tests: testsOf(document.uri, name) }
  }
  if (tested === undefined) return undefined
  const { uri, text } = tested
  const found = stepNameAt(program, tested.program, offset)
  if (found === undefined) return undefined
  const workflow = open.find((one) => one.uri === uri)
  const source = { document: workflow ?? document.beside(uri, text), isOpen: workflow !== undefined }
  const { start, end } = found.target.name
  return { source, program: tested.program, offset: start, tests: testsOf(uri, text.slice(start, end)) }
}

/** The places in tests that refer to the subject. */
function usesInTests({ program, offset, tests }: Subject): PlacedReference[] {
  const starts = new Set(definition(program, offset)?.targets.map(({ name }) => name.start))
  return tests.flatMap((source) => {
    const { program: own, tested } = source.document.compiled
    const names = tested === undefined ? [] : stepNamesIn(own, tested.program)
    return names
      .filter(({ target }) => starts.has(target.name.start))
      .map(({ name }) => ({ source, start: name.start, end: name.end, declares: false }))
  })
}

export function referencesAcross(document: TextDocument, offset: number, others: Others): readonly PlacedReference[] {
  const subject = subjectOf(document, offset, others)
  if (subject === undefined) return []
  const { source, program } = subject
  return [
    ...references(program, subject.offset).map((reference) => ({ ...reference, source })),
    ...usesInTests(subject),
  ]
}

export function prepareRenameAcross(document: TextDocument, offset: number, others: Others): Renamable | Refusal {
  const subject = subjectOf(document, offset, others)
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
  others: Others,
): readonly PlacedEdits[] | Refusal {
  const subject = subjectOf(document, offset, others)
  if (subject === undefined) return onlySteps
  const found = rename(subject.program, subject.offset, newName)
  if ("problem" in found) return found
  if (found.edits.length === 0) return []
  const uses = usesInTests(subject)
  const inTests = subject.tests.map((test): PlacedEdits => {
    const own = uses.filter(({ source }) => source === test)
    const edits = own.map(({ start, end }) => ({ span: { start, end }, text: newName }))
    return { source: test, edits }
  })
  return [{ source: subject.source, edits: found.edits }, ...inTests.filter(({ edits }) => edits.length > 0)]
}
