import type { Program } from "../check/program.ts"
import { inSourceOrder } from "../check/check.ts"
import type { Plan } from "../plan/plan-shape.ts"
import { plan } from "../plan/plan.ts"
import { planTriggers } from "../plan/plan-triggers.ts"
import { diagnostic, isError, type Diagnostic } from "../source/diagnostic.ts"
import { deliveredFields } from "../trust/deliveries.ts"
import { checkTrust } from "../trust/trust.ts"
import { contractDiff } from "./contract-diff.ts"

/** As many breaking changes are named. */
const named = 3

/** What keeps a candidate from getting traffic, beside its own errors. Both are without errors; undefined: there is no current file. */
export function checkCandidate(current: Program | undefined, candidate: Program): Diagnostic[] {
  const place = candidate.release?.declaration.keyword ?? { start: 0, end: 0 }
  if (current === undefined) {
    const message = "There is no current file beside this candidate"
    const hint = "Add it under the same name without `.next`, or rename the candidate to it."
    return [diagnostic("orphan-candidate", "release", place, message, hint)]
  }
  const [before, after] = [current, candidate].map((one) => ({ plan: plan(one), triggers: planTriggers(one) }))
  const changes = before === undefined || after === undefined ? [] : contractDiff(before, after)
  const breaking = changes.filter((one) => one.breaking)
  if (breaking.length > 0) {
    const list = breaking.slice(0, named).map(({ path, change }) => `${path} ${change}`)
    const more = breaking.length > named ? `; and ${breaking.length - named} more` : ""
    const message = `The candidate breaks the contract of the current file: ${list.join("; ")}${more}`
    const hint = "Callers get either version: take the change back, or put the file in place of the current one."
    return [diagnostic("incompatible-candidate", "release", place, message, hint)]
  }
  const filledElsewhere = deliveredFields(current)
  if (filledElsewhere.length === 0) return []
  // Runs of webhooks stay with the current file, and a shadow gets their inputs.
  const known = new Set(checkTrust(candidate).map(sameAs))
  return checkTrust({ ...candidate, filledElsewhere }).filter((one) => !known.has(sameAs(one)))
}

function sameAs({ code, path, span, message }: Diagnostic): string {
  return [code, path, span.start, span.end, message].join("\n")
}

/** What was compiled of a candidate, with what the current file has to do with it. `current`: undefined where there is none. */
export function compiledBeside(compiled: Compiled, current: Compiled | undefined): Compiled {
  // The current file may have errors of its own.
  if (compiled.plan === undefined || (current !== undefined && current.plan === undefined)) return compiled
  const found = checkCandidate(current?.program, compiled.program)
  if (found.length === 0) return compiled
  const diagnostics = inSourceOrder([...compiled.diagnostics, ...found])
  return { ...compiled, diagnostics, plan: found.some(isError) ? undefined : compiled.plan }
}

interface Compiled {
  readonly program: Program
  readonly diagnostics: readonly Diagnostic[]
  readonly plan: Plan | undefined
}
