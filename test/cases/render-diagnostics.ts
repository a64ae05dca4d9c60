import type { Diagnostic } from "../../src/source/diagnostic.ts"
import type { LineMap, Range } from "../../src/source/line-map.ts"

/** One diagnostic a line: `severity code line:col-line:col path | message | hint`; `-` for the path of the whole file. */
export function renderDiagnostics(diagnostics: readonly Diagnostic[], lines: LineMap): string {
  return diagnostics.map((diagnostic) => renderDiagnostic(diagnostic, lines)).join("\n")
}

function renderDiagnostic({ severity, code, path, message, hint, span }: Diagnostic, lines: LineMap): string {
  const place = path === "" ? "-" : path
  const texts = [message, ...(hint === undefined ? [] : [hint])].map(onOneLine)
  return [`${severity} ${code} ${renderRange(lines.range(span))} ${place}`, ...texts].join(" | ")
}

/** `3:14-3:20` */
export function renderRange({ start, end }: Range): string {
  return `${start.line}:${start.column}-${end.line}:${end.column}`
}

function onOneLine(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("\r", "\\r").replaceAll("\n", "\\n")
}
