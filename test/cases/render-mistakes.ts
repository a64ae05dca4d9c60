import assert from "node:assert/strict"
import { compile } from "../../src/compile.ts"
import { LineMap } from "../../src/source/line-map.ts"
import { renderDiagnostics } from "./render-diagnostics.ts"

/**
 * What is reported for a mistake. The text of an author who followed the hint stands after a line `=== followed ===`: one mistake has
 * one message, and what its hint shows stands in the other text and passes the checker there.
 */
export function render(source: string): string {
  const [wrong = "", right = ""] = source.split("=== followed ===\n")
  const { diagnostics } = compile(wrong)
  const rendered = renderDiagnostics(diagnostics, new LineMap(wrong))
  assert.equal(diagnostics.length, 1, rendered)
  const code = shownIn(diagnostics[0]?.hint ?? "")
  assert.ok(plain(right).includes(plain(code)), `the other text has no ${code}`)
  assert.deepEqual(compile(right).diagnostics, [])
  return rendered
}

/** The code that a hint says to write, up to what it leaves open. */
function shownIn(hint: string): string {
  const [, quoted, bare] = /(?:[Ww]rite|Did you mean|in|list:) (?:`([^`]+)`|([\w."*]+)\?)/.exec(hint) ?? []
  return (quoted ?? bare ?? "").split("…")[0] ?? ""
}

function plain(text: string): string {
  return text.replace(/\s+/g, " ").trim()
}
