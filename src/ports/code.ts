/** The texts of code files by their paths from the root: a file, and all that it imports. */
export interface CodeFiles {
  readonly entry: string
  readonly texts: Readonly<Record<string, string>>
}

/** Why a code file cannot be loaded, and where: counted from 1, null where it is not known. */
export interface CodeProblem {
  readonly kind: "invalid-code" | "unknown-file"
  readonly message: string
  readonly file: string
  readonly line: number | null
  readonly column: number | null
}

/** What each export of a code file is. */
export type CodeExports = Readonly<Record<string, "function" | "async" | "generator" | "value">>

export type CheckedCode = { readonly exports: CodeExports } | { readonly problem: CodeProblem }

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
  call(call: CodeCall): Promise<CodeAnswer>
  /** Ends it at once, and a call that is under way: that is never answered. */
  close(): void
}

/** Runs code that a workflow brings along, without any way out. */
export interface CodeHost {
  /** `nowMs`: what time it is in the code. `share`: whose it is, as callers take turns. */
  open(nowMs: number, share: string): CodeSession
  check(code: CodeFiles, share: string): Promise<CheckedCode>
}
