import type { DiagnosticCode } from "../source/codes.ts"
import { isError } from "../source/diagnostic.ts"
import { eachChain } from "../syntax/each-chain.ts"
import type * as Syntax from "../syntax/tree.ts"
import type { Type } from "../types/types.ts"
import { withoutCalls } from "./allowance.ts"
import type { CheckContext } from "./check-context.ts"
import { infer } from "./infer.ts"
import { inferCondition } from "./infer-operators.ts"
import { narrowed, pathsPresent } from "./narrowing.ts"
import type { Scope } from "./scope.ts"

/** What the warning about the whole requirement says already. */
const saidAlready: ReadonlySet<DiagnosticCode> = new Set<DiagnosticCode>(["constant-condition"])

/** `require condition else "text"` of an agent or a question. `output` is what it judges. */
export function checkRequirements(
  checking: CheckContext,
  { body }: Syntax.StepDeclaration,
  output: Type,
  scope: Scope,
): void {
  const requirements = body.items.filter(({ name }) => name.text === "require")
  for (const [index, { value }] of requirements.entries()) {
    if (value.kind !== "requirement") continue
    const path = `${scope.path}.require[${index}]`
    checkRequirement(checking, value, { ...withoutCalls(scope), path, place: "a requirement", result: output })
  }
}

function checkRequirement(
  checking: CheckContext,
  { condition, otherwise }: Syntax.RequirementValue,
  scope: Scope,
): void {
  const before = checking.diagnostics.length
  const { muted } = checking
  if (!namesResult(condition)) checking.muted = new Set([...(muted ?? []), ...saidAlready])
  inferCondition(checking, condition, scope, infer)
  checking.muted = muted
  const isWrong = checking.diagnostics.slice(before).some(isError)
  if (!isWrong && !refersToResult(checking, condition)) {
    const isHidden = namesResult(condition)
    const message = `This requirement ${isHidden ? "means the loop variable `result`" : "does not mention `result`"}: no output changes whether it holds`
    const hint = isHidden
      ? "Give the loop variable another name."
      : "Refer to `result`, or give the step a condition with `when`."
    checking.report("constant-requirement", scope.path, condition, message, hint)
  }
  // The text is shown where the condition does not hold.
  if (otherwise !== undefined) infer(checking, otherwise, narrowed(scope, pathsPresent(condition, false)))
}

function namesResult(condition: Syntax.Expression): boolean {
  let found = false
  eachChain(condition, ({ base }) => (found ||= base.kind === "name" && base.text === "result"))
  return found
}

function refersToResult(checking: CheckContext, condition: Syntax.Expression): boolean {
  let found = false
  eachChain(condition, (chain) => (found ||= checking.roots.get(chain)?.kind === "result"))
  return found
}
