import type { Program } from "../check/program.ts"
import { Files as CompiledFiles, type Files, type FileTexts } from "../compile.ts"
import { isDeclaredElsewhere, occurrencesAcross, sharedTarget, type EditedFiles } from "../editor/across-files.ts"
import type { Refusal, Renamable } from "../editor/rename.ts"
import { renameInFiles } from "../editor/rename-across.ts"
import type { PlacedEdits, PlacedReference, Source } from "./across-tests.ts"

// A library declares a schema, a model or a tool, and other files name it: references and renames reach all of them.

/** The file that a request is about among the files of its folder. */
export interface FilesAround {
  readonly files: EditedFiles
  readonly program: Program
  /** A file by its path from the root; its text as it was checked. */
  source(file: string, text: string): Source
}

/** The files of a folder. `paths` lists those that may use others. */
export class FolderFiles implements EditedFiles {
  readonly #files: Files
  readonly #texts: FileTexts
  readonly #paths: readonly string[]
  readonly #users = new Map<string, readonly string[]>()

  constructor(files: Files, texts: FileTexts, paths: readonly string[]) {
    this.#files = files
    this.#texts = texts
    this.#paths = paths
  }

  checked(file: string): ReturnType<EditedFiles["checked"]> {
    return this.#files.checked(file)
  }

  users(file: string): readonly string[] {
    const known = this.#users.get(file)
    if (known !== undefined) return known
    const users = this.#paths.filter((path) => path !== file && this.#files.named(path).has(file))
    this.#users.set(file, users)
    return users
  }

  with(texts: ReadonlyMap<string, string>): EditedFiles {
    const edited: FileTexts = {
      read: (path) => texts.get(path) ?? this.#texts.read(path),
      near: (path) => this.#texts.near(path),
    }
    return new FolderFiles(new CompiledFiles(edited), edited, this.#paths)
  }
}

/** Undefined where only the file itself can name it. */
export function referencesInFiles(around: FilesAround, offset: number): readonly PlacedReference[] | undefined {
  return occurrencesAcross(around.files, around.program, offset)?.occurrences.map((one) => {
    const { file, program, start, end, declares } = one
    return { start, end, declares, source: around.source(file, program.tree.text) }
  })
}

/** The name at the offset, if another file declares it. */
export function renamableInFiles({ program }: FilesAround, offset: number): Renamable | undefined {
  const found = sharedTarget(program, offset)
  if (found === undefined || !isDeclaredElsewhere(program, found.target)) return undefined
  const { start, end, text } = found.use
  return { span: { start, end }, name: text }
}

export function renamedInFiles(
  around: FilesAround,
  offset: number,
  newName: string,
): readonly PlacedEdits[] | Refusal | undefined {
  const found = renameInFiles(around.files, around.program, offset, newName)
  if (found === undefined || "problem" in found) return found
  return found.map(({ file, text, edits }) => ({ source: around.source(file, text), edits }))
}
