import { withoutTrailing } from "../../base/without-trailing.ts"
import type { Issue } from "../../source/diagnostic.ts"
import type { LineMap } from "../../source/line-map.ts"
import type { Palette } from "./terminal.ts"
import { cellWidth } from "./cell-width.ts"
import { visibleText } from "../../base/visible-text.ts"

/** Source around a long line's problem that is shown at most. */
const windowColumns = 100

/**
 * A diagnostic for people: place, sentence and code, the source line with the range underlined, the hint. The first line
 * has the form that editors and terminals make a link of.
 *
 *     flow.wire:3:14: error: Unknown reference: agent.sumarize [unknown-reference]
 *       3 |     text: agent.sumarize
 *         |                 ^^^^^^^^
 *         = Did you mean agent.summarize?
 *
 * Places in other files that belong to it come last, each with its file. A problem in a code file is shown where the file is named.
 */
export function showIssue(file: string, text: string, lines: LineMap, issue: Issue, palette: Palette): string {
  const { severity, code, message, hint, related } = issue
  // The message says the place in a code file; shown is what names it.
  const here = issue.file === undefined ? undefined : related?.find((one) => one.file === undefined)
  const { start, end } = (here ?? issue).range
  const paint = severity === "error" ? palette.error : palette.warning
  const place = palette.bold(`${visibleText(file)}:${start.line}:${start.column}:`)
  const out = [`${place} ${paint(`${severity}:`)} ${visibleText(message)} ${palette.faint(`[${code}]`)}`]

  const gutter = String(start.line)
  const margin = `  ${" ".repeat(gutter.length)} `
  const line = lineText(text, lines, start.line)
  const underlineEnd = end.line === start.line ? end.column - 1 : line.length
  const shown = crop(line, start.column - 1, Math.max(start.column, underlineEnd))
  out.push(`  ${palette.faint(`${gutter} |`)} ${shown.text}`)
  out.push(`${margin}${palette.faint("|")} ${" ".repeat(shown.before)}${paint("^".repeat(shown.under))}`)
  for (const line of hint?.split("\n") ?? []) {
    out.push(`${margin}${palette.faint("=")} ${palette.hint(visibleText(line))}`)
  }
  for (const { file: other, range: at, message: what } of related ?? []) {
    if (other === undefined) continue
    out.push(
      `${margin}${palette.faint(`= ${visibleText(other)}:${at.start.line}:${at.start.column}:`)} ${visibleText(what)}`,
    )
  }
  return out.join("\n")
}

/** The problem of a file as a whole: a clause that is printed after its name. */
export function showProblem(file: string, problem: string, palette: Palette): string {
  return `${palette.bold(`${visibleText(file)}:`)} ${palette.error("error:")} ${visibleText(problem)}`
}

function lineText(text: string, lines: LineMap, line: number): string {
  return withoutTrailing(text.slice(lines.lineStart(line), lines.lineStart(line + 1)), "\r\n")
}

/** The part of a line to show, and where in it (in cells) the underline goes. */
function crop(line: string, from: number, to: number): { text: string; before: number; under: number } {
  const isLong = line.length > windowColumns + 20
  const left = isLong ? Math.max(0, Math.min(from - 30, line.length - windowColumns)) : 0
  const right = isLong ? Math.min(line.length, left + windowColumns) : line.length
  const head = left > 0 ? "…" : ""
  const tail = right < line.length ? "…" : ""
  const part = (start: number, end: number) => visibleText(line.slice(Math.max(left, start), Math.min(right, end)))
  return {
    text: head + part(left, right) + tail,
    before: cellWidth(head + part(left, from)),
    under: Math.max(1, cellWidth(part(from, to))),
  }
}
