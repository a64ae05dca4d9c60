import { LineMap } from "../../src/source/line-map.ts"
import { compiledOf } from "../shown-run/changes.ts"
import type { RunView } from "../shown-run/run-view.ts"
import type { TracedProgram } from "../../src/origins/template.ts"

const traced = new WeakMap<RunView, TracedProgram | null>()

/** The compiled text of a run with its lines; null where the text is not known, or has errors. */
export function tracedProgram(run: RunView): TracedProgram | null {
  let found = traced.get(run)
  if (found === undefined) {
    const { program, plan } = compiledOf(run)
    found = plan === undefined ? null : { program, plan, lines: new LineMap(run.request.source) }
    traced.set(run, found)
  }
  return found
}
