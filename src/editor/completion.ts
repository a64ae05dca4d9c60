import type { Span } from "../source/span.ts"
import type { Edit } from "./edit.ts"

export type CompletionKind =
  | "keyword"
  | "property"
  | "field"
  | "type"
  | "schema"
  | "root"
  | "agent"
  | "workflow"
  | "ask"
  | "wait"
  | "value"
  | "variable"
  | "model"
  | "provider"
  | "server"
  | "tool"
  | "resource"
  | "prompt"
  | "case"
  | "constant"
  | "function"

/** Something that could be written at the cursor. */
export interface Completion {
  /** What the list shows, and what the author's letters are compared with unless there is a `filter`. */
  readonly label: string
  readonly kind: CompletionKind
  /** Its type, or another short remark for the same line. */
  readonly detail?: string
  /** The author's comment, or what the word means. */
  readonly doc?: string
  /** The text that takes the place of the span. */
  readonly insert: string
  /** The text to insert with places to fill in (`${1:name}`), for editors that know such. */
  readonly snippet?: string
  /** Further edits that go with it: the `.` before it becomes `?.`, for one. None touches the span's inside. */
  readonly edits?: readonly Edit[]
  readonly filter?: string
}

export interface Completions {
  /** What the chosen one replaces: the word around the cursor, or nothing at it. */
  readonly span: Span
  /** The likeliest first. Not filtered by what is written already: editors do that in their own ways. */
  readonly items: readonly Completion[]
}
