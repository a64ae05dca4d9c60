import { cutText } from "../base/cut-text.ts"
import { isError, toIssue, type Diagnostic, type Issue } from "../source/diagnostic.ts"
import { LineMap } from "../source/line-map.ts"
import { sourceIssues, sourceIssuesLength } from "../base/limits.ts"

/** A name can be as long as a source. */
const longestText = 2000

/** The problems as answers show them: in source order and bounded, errors before warnings where not all have room. */
export function boundedIssues(text: string, diagnostics: readonly Diagnostic[]): Issue[] {
  const lines = new LineMap(text)
  const issues: Issue[] = []
  let characters = 0
  for (const found of chosen(diagnostics)) {
    const { code, severity, path, message, hint, file, range, related } = toIssue(found, lines)
    const issue: Issue = {
      code,
      severity,
      path: cutText(path, longestText),
      message: cutText(message, longestText),
      ...(hint !== undefined && { hint: cutText(hint, longestText) }),
      ...(file !== undefined && { file }),
      range,
      ...(related && { related: related.map((one) => ({ ...one, message: cutText(one.message, longestText) })) }),
    }
    characters += issue.path.length + issue.message.length + (issue.hint?.length ?? 0)
    if (characters > sourceIssuesLength) break
    issues.push(issue)
  }
  return issues
}

function chosen(diagnostics: readonly Diagnostic[]): readonly Diagnostic[] {
  if (diagnostics.length <= sourceIssues) return diagnostics
  let warnings = sourceIssues - Math.min(sourceIssues, diagnostics.filter(isError).length)
  return diagnostics.filter((found) => isError(found) || warnings-- > 0).slice(0, sourceIssues)
}
