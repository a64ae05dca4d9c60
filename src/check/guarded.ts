import type { DiagnosticCode } from "../source/codes.ts"
import { isError } from "../source/diagnostic.ts"
import type { CheckContext } from "./check-context.ts"
import type { Scope } from "./scope.ts"

/** What a broken condition may have ruled out. */
const ruledOut: ReadonlySet<DiagnosticCode> = new Set<DiagnosticCode>(["nullable-access"])

/** Checks a condition, then what it guards in the scope that it makes: a wrong condition says nothing about nulls. */
export function checkGuarded(
  checking: CheckContext,
  checkCondition: () => Scope,
  check: (scope: Scope) => void,
  isBroken = false,
): void {
  const before = checking.diagnostics.length
  const scope = checkCondition()
  const { muted } = checking
  if (isBroken || checking.diagnostics.slice(before).some(isError)) checking.muted = ruledOut
  check(scope)
  checking.muted = muted
}
