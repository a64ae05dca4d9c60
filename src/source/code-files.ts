/** The texts of code files by their paths from the root: a file, and all that it may import. */
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

/** Whether a path is that of a code file. */
export function isCodePath(path: string): boolean {
  return /\.(?:js|ts)$/.test(path)
}

/** Paths that a code file may import, as written. One in a comment counts too: what it really imports is known when it is loaded. */
export function importsIn(text: string): string[] {
  const found = text.matchAll(/\b(?:from|import)\s*(?:"(\.{1,2}\/[^"\n]*)"|'(\.{1,2}\/[^'\n]*)')/g)
  return [...new Set([...found].map(([, double, single]) => double ?? single ?? ""))]
}

/** Offset of a place in a text, counted from line and column 1. */
export function offsetAt(text: string, line: number, column: number): number {
  let start = 0
  for (let at = 1; at < line; at++) start = text.indexOf("\n", start) + 1 || text.length
  const end = text.indexOf("\n", start)
  return Math.min(start + column - 1, end < 0 ? text.length : end)
}
