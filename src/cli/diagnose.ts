import type { Issue } from "../source/diagnostic.ts"
import { isError, toIssue } from "../source/diagnostic.ts"
import { LineMap } from "../source/line-map.ts"
import { parse } from "../syntax/parser.ts"

/** Everything that is wrong with a source, in the order of its text. */
export interface Diagnosis {
  readonly lines: LineMap
  readonly issues: readonly Issue[]
  readonly errors: number
  readonly warnings: number
}

export function diagnose(text: string): Diagnosis {
  const lines = new LineMap(text)
  const issues = parse(text).diagnostics.map((diagnostic) => toIssue(diagnostic, lines))
  const errors = issues.filter(isError).length
  return { lines, issues, errors, warnings: issues.length - errors }
}
