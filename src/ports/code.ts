import type { CheckedCode, CodeFiles } from "../source/code-files.ts"

export interface CodeCall {
  readonly code: CodeFiles
  /** The name of the export; `default` where the file has none of that name. */
  readonly name: string
  /** JSON of the array of arguments. */
  readonly args: string
  /** The same seed gives the same random numbers. */
  readonly seed: string
  /** CPU that the run may still use. */
  readonly leftMs: number
}

/** What a call came to. `logs`: what it wrote to `console`. `text`: JSON of the result. Everything in it comes from the code, and may be anything. */
export type CodeAnswer = { readonly logs: string; readonly cpuMs: number } & (
  | { readonly kind: "value"; readonly text: string }
  /** It threw, or its result is no JSON value. */
  | { readonly kind: "failed"; readonly message: string; readonly place: string | null }
  | { readonly kind: "limit"; readonly limit: CodeLimit }
)

export type CodeLimit = "call" | "run" | "memory" | "result" | "recursion"

/** One context: what a call leaves behind, the next one sees. */
export interface CodeSession {
  /** The answers in the order of the calls. After one that is no value no more calls are made. */
  callAll(calls: readonly CodeCall[]): Promise<CodeAnswer[]>
  /** Ends it at once, and a call that is under way: that is never answered. */
  close(): void
}

/** Runs code that a workflow brings along, without any way out. */
export interface CodeHost {
  /** `nowMs`: what time it is in the code. `share`: whose it is, as callers take turns. */
  open(nowMs: number, share: string): CodeSession
  check(code: CodeFiles, share: string): Promise<CheckedCode>
}
