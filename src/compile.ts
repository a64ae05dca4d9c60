// First, so that a bundle has the parser in one piece: it compresses better.
import { parse } from "./syntax/parser.ts"
import { check, inSourceOrder } from "./check/check.ts"
import type { Program } from "./check/program.ts"
import { plan } from "./plan/plan.ts"
import type { Plan } from "./plan/plan-shape.ts"
import type { Diagnostic } from "./source/diagnostic.ts"
import { isError } from "./source/diagnostic.ts"

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
  const diagnostics = inSourceOrder([...syntax, ...found])
  return { program, diagnostics, plan: diagnostics.some(isError) ? undefined : plan(program) }
}
