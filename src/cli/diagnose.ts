import { compile } from "../compile.ts"
import type { Diagnostic, Issue } from "../source/diagnostic.ts"
import { isError, toIssue } from "../source/diagnostic.ts"
import { LineMap } from "../source/line-map.ts"

/** Everything that is wrong with a source, in the order of its text. */
export interface Diagnosis {
  readonly lines: LineMap
  readonly issues: readonly Issue[]
  readonly errors: number
  readonly warnings: number
}

export function diagnose(text: string): Diagnosis {
  return diagnosisOf(text, compile(text).diagnostics)
}

export function diagnosisOf(text: string, diagnostics: readonly Diagnostic[]): Diagnosis {
  const lines = new LineMap(text)
  const issues = diagnostics.map((diagnostic) => toIssue(diagnostic, lines))
  const errors = issues.filter(isError).length
  return { lines, issues, errors, warnings: issues.length - errors }
}
