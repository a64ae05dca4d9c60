import { check, inSourceOrder } from "./check/check.ts"
import type { Program } from "./check/program.ts"
import { plan } from "./plan/plan.ts"
import type { Plan } from "./plan/plan-shape.ts"
import type { Diagnostic } from "./source/diagnostic.ts"
import { isError } from "./source/diagnostic.ts"
import { parse } from "./syntax/parser.ts"

export interface Compiled {
  readonly program: Program
  /** Everything that is wrong, in source order. */
  readonly diagnostics: readonly Diagnostic[]
  /** There is one when no diagnostic is an error. */
  readonly plan: Plan | undefined
}

/** The spine up to the run: text → tree → program → plan. */
export function compile(text: string): Compiled {
  const { tree, diagnostics: syntax } = parse(text)
  const { program, diagnostics: found } = check(tree)
  // What a syntax error swallowed may be what a declaration is used by: then nobody can say that it is unused.
  const meaningful = syntax.length === 0 ? found : found.filter(({ code }) => !restsOnAbsence.has(code))
  const diagnostics = inSourceOrder([...syntax, ...meaningful])
  return { program, diagnostics, plan: diagnostics.some(isError) ? undefined : plan(program) }
}

const restsOnAbsence: ReadonlySet<string> = new Set(["unused-declaration", "missing-output"])
