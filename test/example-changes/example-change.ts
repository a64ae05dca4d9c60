import assert from "node:assert/strict"
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"

/** One edit of a change: a text that is inserted before another one, or a new file. */
export type Edit =
  | { readonly file: string; readonly before: string; readonly insert: string }
  | { readonly file: string; readonly create: string }

/** An example of one kind of change. CONTRIBUTING.md lists the files that such a change touches. */
export interface ExampleChange {
  /** As in the table of CONTRIBUTING.md. */
  readonly kind: string
  readonly edits: readonly Edit[]
  /** Files that `npm run docs` writes for it. */
  readonly made: readonly string[]
  /** Tests that know of such changes; `npm run check` runs besides. */
  readonly tests: readonly string[]
}

export function applyEdit(root: string, edit: Edit): void {
  const path = join(root, edit.file)
  if ("create" in edit) {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, edit.create, { flag: "wx" })
    return
  }
  const text = readFileSync(path, "utf8")
  assert.equal(text.split(edit.before).length, 2, `${edit.file} should have this text once: ${edit.before}`)
  writeFileSync(
    path,
    text.replace(edit.before, () => edit.insert + edit.before),
  )
}
