import type { Full } from "../../../run/run-slots.ts"

// What the parent process and the processes of the service tell each other.

/** What a process says of its places: see `RunSlots`. */
export type RunSlotMessage =
  | readonly ["enter", number, string]
  | readonly ["take up" | "leave" | "begin" | "end", string]
  | readonly ["wait", string, string, boolean]
  | readonly ["unwait", string]

/** `entered`: the number of the question, why not, and whether the run may begin at once. `begin`: the turn of a run that waits, and its share. */
export type RunSlotAnswer = readonly ["entered", number, Full | null, boolean] | readonly ["begin", string, string]

/** Requests that were counted, by whom they are counted for. */
export type Spent = readonly (readonly [string, number])[]

/** What the start of a service says of it: all that its first lines show. */
export interface Listening {
  readonly address: string
  readonly listens: string
  readonly egress: "private" | "public" | "hosts"
  readonly workflows: { readonly files: number; readonly refused: readonly string[] } | null
}

export type ToParent =
  | { readonly places: readonly RunSlotMessage[] }
  | { readonly spent: Spent }
  | { readonly audit: object }
  | { readonly listening: Listening }
  /** Asks for the metrics of all processes. */
  | { readonly ask: number }
  /** Its own metrics. */
  | { readonly metrics: string }

export type ToChild =
  | { readonly places: readonly RunSlotAnswer[] }
  | { readonly spent: Spent }
  | { readonly stop: string }
  | { readonly up: number; readonly died: boolean }
  | { readonly answer: number; readonly text: string }
  /** Asks for its own metrics. */
  | { readonly metrics: true }
