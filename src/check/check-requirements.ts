import type { DiagnosticCode } from "../source/codes.ts"
import { isError } from "../source/diagnostic.ts"
import { eachChain } from "../syntax/each-chain.ts"
import type * as Syntax from "../syntax/tree.ts"
import type { Type } from "../types/types.ts"
import { requestPlace, withoutCalls, withoutSecrets } from "./allowance.ts"
import type { CheckContext } from "./check-context.ts"
import { infer } from "./infer.ts"
import { inferCondition } from "./infer-operators.ts"
import { narrowed, pathsPresent } from "./narrowing.ts"
import { requestScope, type Scope } from "./scope.ts"

/** What the warning about the whole requirement says already. */
const saidAlready: ReadonlySet<DiagnosticCode> = new Set<DiagnosticCode>(["constant-condition"])

/** `require condition else "text"` of an agent or a question. `output` is what it judges. */
export function checkRequirements(
  checking: CheckContext,
  { kind, body }: Syntax.StepDeclaration,
  output: Type,
  scope: Scope,
): void {
  const requirements = body.items.filter(({ name }) => name.text === "require")
  for (const [index, { value }] of requirements.entries()) {
    if (value.kind !== "requirement") continue
    const path = `${scope.path}.require[${index}]`
    const judging: Scope = { ...withoutCalls(scope), path, place: "a requirement", result: output }
    // An answer is judged when it comes, while the run waits.
    checkRequirement(checking, value, kind === "ask" ? { ...judging, withoutCode: true } : judging)
  }
}

/** `require condition else "text"` among the fields of `input { }`. */
export function checkInputRequirements(checking: CheckContext): void {
  const items = checking.blocks.input.flatMap(({ body }) => body.items)
  const requirements = items.flatMap((item) => (item.kind === "property" ? [item.value] : []))
  for (const [index, value] of requirements.entries()) {
    if (value.kind !== "requirement") continue
    const place = withoutSecrets(requestPlace)
    checkRequirement(
      checking,
      value,
      requestScope(`input.require[${index}]`, "a requirement of the input", place),
      "input",
    )
  }
}

function checkRequirement(
  checking: CheckContext,
  { condition, otherwise }: Syntax.RequirementValue,
  scope: Scope,
  judged: "result" | "input" = "result",
): void {
  const before = checking.diagnostics.length
  const { muted } = checking
  if (!names(condition, judged)) checking.muted = new Set([...(muted ?? []), ...saidAlready])
  inferCondition(checking, condition, scope, infer)
  checking.muted = muted
  const isWrong = checking.diagnostics.slice(before).some(isError)
  if (!isWrong && !refersTo(checking, condition, judged)) {
    const isHidden = names(condition, judged)
    const message = `This requirement ${isHidden ? "means the loop variable `result`" : `does not mention \`${judged}\``}: no ${judged === "input" ? "input" : "output"} changes whether it holds`
    const hint = isHidden
      ? "Give the loop variable another name."
      : judged === "input"
        ? "Refer to `input`, or remove it."
        : "Refer to `result`, or give the step a condition with `when`."
    checking.report("constant-requirement", scope.path, condition, message, hint)
  }
  // The text is shown where the condition does not hold.
  if (otherwise !== undefined) infer(checking, otherwise, narrowed(scope, pathsPresent(condition, false)))
}

function names(condition: Syntax.Expression, judged: string): boolean {
  let found = false
  eachChain(condition, ({ base }) => (found ||= base.kind === "name" && base.text === judged))
  return found
}

function refersTo(checking: CheckContext, condition: Syntax.Expression, judged: string): boolean {
  let found = false
  eachChain(condition, (chain) => (found ||= checking.roots.get(chain)?.kind === judged))
  return found
}
