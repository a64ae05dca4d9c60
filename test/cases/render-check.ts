import { compile } from "../../src/compile.ts"
import { LineMap } from "../../src/source/line-map.ts"
import { renderDiagnostics } from "./render-diagnostics.ts"

/** Everything that is wrong, one diagnostic a line, syntax errors included; `ok` if nothing is. */
export function render(source: string): string {
  const { diagnostics } = compile(source)
  return diagnostics.length === 0 ? "ok" : renderDiagnostics(diagnostics, new LineMap(source))
}
