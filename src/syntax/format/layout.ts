import type { Tree } from "../tree.ts"

/** What stands before a token when no comment forces a line break there. */
export const gap = {
  none: 0,
  space: 1,
  /** Always on a line of its own. */
  line: 2,
  /** A line of its own where the token's group is broken, else a space. */
  softSpace: 3,
  /** A line of its own where the token's group is broken, else nothing. */
  softNone: 4,
  /** A space. What stands before it is not broken for what follows, which cannot be. */
  tail: 5,
} as const

export type Gap = (typeof gap)[keyof typeof gap]

/** When a comma follows a token. */
export const comma = { never: 0, always: 1, flat: 2, broken: 3 } as const

export type Comma = (typeof comma)[keyof typeof comma]

/** Bits. */
export const flag = {
  /** Not printed; its comments go to the next token. */
  drop: 1,
  /** Begins an item: the author's blank line before it stays. */
  item: 2,
  /** Closes a group: comments before it belong to what is inside. */
  closer: 4,
  /** Opens a group: no blank line after it. */
  opener: 8,
  /** The comments before it are printed after it. */
  commentsAfter: 16,
  /** Where its group is broken, a `|` stands before it. */
  bar: 32,
  /** Begins a declaration: a blank line stands before it. */
  declaration: 64,
  /** Printed otherwise than it is written. */
  replaced: 128,
} as const

/** Whether a group is on one line. The printer decides the open ones, by their width. */
export const state = { open: 0, flat: 1, broken: 2 } as const

export type GroupState = (typeof state)[keyof typeof state]

/** A stretch of tokens whose soft gaps are all broken, or none. */
export interface Group {
  readonly start: number
  /** Its last token. */
  readonly end: number
  state: GroupState
  /** First and last token of a union whose lines are indented once more when it is broken. */
  readonly indented: { readonly from: number; readonly to: number } | undefined
}

/** How each token of a file is printed, by its index. */
export interface Layout {
  readonly tree: Tree
  readonly gaps: Uint8Array
  /** The group that a soft gap depends on. */
  readonly gapGroups: Int32Array
  /** The indentation, in levels, of a line that begins with the token. */
  readonly indents: Uint16Array
  readonly flags: Uint8Array
  readonly commas: Uint8Array
  readonly commaGroups: Int32Array
  /** In the order of their first tokens, the outer before the inner. */
  readonly groups: readonly Group[]
  /** The text for the `replaced` ones, the parts of block strings. */
  readonly texts: ReadonlyMap<number, string>
}
