import type { Program } from "../../check/program.ts"
import type { Diagnostic } from "../../source/diagnostic.ts"
import type { Span } from "../../source/span.ts"
import { useAt } from "../use-at.ts"
import { replaceWith, type Fix } from "./fix.ts"

/** "Did you mean `name`?" speaks of what the diagnostic points at, "Did you mean agent.name?" of the whole reference. */
const meant = /^Did you mean (?:`([^`]+)`|([^ `]+))\?(?: |$)/

const quotes = /^Write it (?:in quotes|into text): `(.+)`\.$/

export function fixSpelling(program: Program, diagnostic: Diagnostic): readonly Fix[] {
  const { hint = "", span } = diagnostic
  const [, word, reference] = meant.exec(hint) ?? []
  const text = word ?? reference
  if (text !== undefined && !text.includes("…")) {
    const written = word === undefined ? wholeReference(program, span) : span
    return [{ title: `Change to \`${text}\``, edits: [replaceWith(written, text)], preferred: true }]
  }
  const [, quoted] = quotes.exec(hint) ?? []
  if (quoted === undefined || quoted.includes("…")) return []
  return [{ title: `Write \`${quoted}\``, edits: [replaceWith(span, quoted)], preferred: true }]
}

/** The chain, type or remote path that the span is the end of. */
function wholeReference(program: Program, span: Span): Span {
  const use = useAt(program, span.start)
  switch (use?.kind) {
    case "root":
    case "step":
      return use.chain
    case "type-segment":
      return { start: use.segments[0]?.start ?? span.start, end: span.end }
    case "server-name":
    case "remote-kind":
      return use.source
    default:
      return span
  }
}
