import { LineMap } from "../../src/source/line-map.ts"
import { lex } from "../../src/syntax/lexer.ts"
import { renderDiagnostics, renderRange } from "./render-diagnostics.ts"

/** One token a line, `kind range text`, its comments indented before it; then the diagnostics. */
export function render(source: string): string {
  const { tokens, diagnostics } = lex(source)
  const lines = new LineMap(source)
  const out: string[] = []
  for (const token of tokens) {
    for (const comment of token.comments) {
      const text = JSON.stringify(source.slice(comment.start, comment.end))
      out.push(`  ${comment.style}-comment ${renderRange(lines.range(comment))} ${text}`)
    }
    const text = JSON.stringify(source.slice(token.start, token.end))
    out.push(`${token.kind} ${renderRange(lines.range(token))} ${text}${token.unclosed ? " unclosed" : ""}`)
  }
  if (diagnostics.length > 0) out.push("", renderDiagnostics(diagnostics, lines))
  return out.join("\n")
}
