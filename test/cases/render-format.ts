import assert from "node:assert/strict"

import { LineMap } from "../../src/source/line-map.ts"
import { formatText } from "../../src/syntax/format.ts"
import { importsFirst } from "../../src/syntax/format/imports-first.ts"
import { parseWithTests } from "../../src/syntax/test-parser.ts"
import { assertSameTree } from "../properties/same-tree.ts"
import { renderDiagnostics } from "./render-diagnostics.ts"

/** The formatted text; for broken source, the word `refused` and the diagnostics. */
export function render(source: string): string {
  const result = formatText(source)
  if ("diagnostics" in result) {
    return `refused\n${renderDiagnostics(result.diagnostics, new LineMap(source))}`
  }
  const { formatted, changed } = result
  assert.equal(changed, formatted !== source)
  assert.match(formatted, /^$|[^\n]\n$/, "ends in one line break, unless it is empty")
  const { tree } = parseWithTests(source)
  const sorted = importsFirst(tree)
  assertSameTree(parseWithTests(formatted).tree, sorted === undefined ? tree : parseWithTests(sorted).tree)
  assert.deepEqual(formatText(formatted), { formatted, changed: false }, "formatted twice")
  return formatted
}
