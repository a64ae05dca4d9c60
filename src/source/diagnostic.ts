import { visibleText } from "../base/visible-text.ts"
import { severityOf, type DiagnosticCode } from "./codes.ts"
import { textOfHint, type DataOf, type Hint } from "./hint.ts"
import { LineMap, type Range } from "./line-map.ts"
import type { Span } from "./span.ts"

export type Severity = "error" | "warning"

/** A mistake of the author's, as a value: what is wrong, where, and what to do next. */
export interface Diagnostic<Code extends DiagnosticCode = DiagnosticCode> {
  readonly code: Code
  readonly severity: Severity
  /** The dotted place in the workflow: `agent.writer.instruction`; empty at the top of the file. */
  readonly path: string
  readonly message: string
  /** What to do; where a value came by a way, a first line says it. */
  readonly hint?: string
  /** What it is about, for quick fixes. */
  readonly data?: DataOf<Code>
  readonly span: Span
  /** Other places that belong to it, such as those of a way. */
  readonly related?: readonly Related[]
  /** The place itself, where it is in a code file; `span` is what leads there. */
  readonly elsewhere?: { readonly file: string; readonly text: string; readonly span: Span }
}

export interface Related {
  readonly message: string
  readonly span: Span
  /** The file, where it is another one. */
  readonly elsewhere?: { readonly file: string; readonly text: string }
}

/** A diagnostic as it goes over the wire: lines and columns instead of a span. */
export interface Issue {
  readonly code: DiagnosticCode
  readonly severity: Severity
  readonly path: string
  readonly message: string
  readonly hint?: string
  /** The file that `range` is in, where it is not the main source. */
  readonly file?: string
  readonly range: Range
  readonly related?: readonly { readonly message: string; readonly file?: string; readonly range: Range }[]
}

export function diagnostic<Code extends DiagnosticCode>(
  code: Code,
  path: string,
  span: Span,
  message: string,
  hint?: Hint<DataOf<Code>>,
  severity: Severity = severityOf(code),
  way?: string,
): Diagnostic<Code> {
  const data = typeof hint === "object" ? hint.data : undefined
  // Both quote the source, which somebody else may have written.
  const base = { code, severity, path, message: visibleText(message), span: { start: span.start, end: span.end } }
  const lines = [way, textOfHint(hint)].filter((line) => line !== undefined)
  return {
    ...base,
    ...(lines.length > 0 && { hint: lines.map(visibleText).join("\n") }),
    ...(data !== undefined && { data }),
  }
}

export function toIssue(diagnostic: Diagnostic, lines: LineMap): Issue {
  const { code, severity, path, message, hint, span, related, elsewhere } = diagnostic
  const here = elsewhere === undefined ? [] : [{ message: "The file is named here", range: lines.range(span) }]
  const others = [...here, ...(related ?? []).map((one) => toRelated(one, lines))]
  return {
    code,
    severity,
    path,
    message,
    ...(hint !== undefined && { hint }),
    ...(elsewhere !== undefined && { file: elsewhere.file }),
    range: elsewhere === undefined ? lines.range(span) : new LineMap(elsewhere.text).range(elsewhere.span),
    ...(others.length > 0 && { related: others }),
  }
}

function toRelated({ message, span, elsewhere }: Related, lines: LineMap): NonNullable<Issue["related"]>[number] {
  if (elsewhere === undefined) return { message, range: lines.range(span) }
  return { message, file: elsewhere.file, range: new LineMap(elsewhere.text).range(span) }
}

export function isError(item: { readonly severity: Severity }): boolean {
  return item.severity === "error"
}
