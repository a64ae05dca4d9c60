import type { Edit } from "../../src/editor/edit.ts"
import type { Span } from "../../src/source/span.ts"

/** What changes along with a text: `apply` when the change is done again, `revert` when it is undone. */
export interface Swap {
  readonly apply: () => void
  readonly revert: () => void
}

/** What the rest of the page needs from the editor. */
export interface EditorPort {
  /** Replaces the text as one step that can be undone; `swap` is called when it is undone or done again. */
  replace(text: string, swap: Swap): void
  /** Shows another file, with the history of its own changes where it was open before. */
  open(file: string, text: string): void
  /** Forgets a file that was closed. */
  forget(file: string): void
  /** Makes these changes as one step, if the text is still the one that they are for. */
  change(edits: readonly Edit[], text: string): void
  /** Selects a range and brings it into view. */
  reveal(span: Span): void
  focus(): void
  format(): void
  /** Whether the person at the keyboard can change the text. */
  setReadOnly(readOnly: boolean): void
}

let current: EditorPort | undefined
let part: EditorPort | undefined

/** The editor of another file of the workflow, as long as that is shown. */
export function setPartEditor(port: EditorPort | undefined): void {
  part = port
}

/** The editor that is shown. */
export function shownEditor(): EditorPort | undefined {
  return part ?? current
}

export function setEditor(port: EditorPort | undefined): void {
  current = port
}

export function editor(): EditorPort | undefined {
  return current
}
