import { expressionIn, skipsFailure } from "../syntax/property-of.ts"
import type * as Syntax from "../syntax/tree.ts"
import { booleanType, errorType, integerType } from "../types/primitives.ts"
import { maybe } from "../types/relations.ts"
import type { RecordType, Type } from "../types/types.ts"
import { inValue, withoutCalls, withoutSecrets } from "./allowance.ts"
import { blockOf } from "./block-of.ts"
import { checkApproval } from "./check-approval.ts"
import type { CheckContext } from "./check-context.ts"
import { numberIn } from "./constants.ts"
import { checkArguments, checkGiven, refuseMisplaced, type Taken } from "./infer-invoke.ts"
import { inferCondition, placeOfUntil } from "./infer-operators.ts"
import type { WorkflowSymbol } from "./program.ts"
import { expressionOf, readProperties } from "./properties.ts"
import { resolveNamed } from "./resolve-named.ts"
import { at, type Infer, type Scope } from "./scope.ts"
import { checkSteered } from "./destination-inputs.ts"

/** `call workflow.w { input { … } }`, `repeat workflow.w { input { … } until: … next { … } at_most: 3 }` */
export function inferWorkflowCall(checking: CheckContext, node: Syntax.InvokeNode, around: Scope, infer: Infer): Type {
  const scope = refuseMisplaced(checking, node, around)
  const symbol = resolveWorkflow(checking, node.target, scope.path)
  const isRepeated = node.kind === "repeat"
  const place = isRepeated ? "repeat" : "workflow-call"
  const properties = readProperties(checking, place, node.block, scope.path, node.keyword)
  const inner = inValue(scope)
  const inInput = { ...withoutSecrets(at(inner, "input")), place: "the input of a workflow" }
  const fields = blockOf(checking, properties.get("input"), inInput.path)?.items ?? []
  checkArguments(checking, fields, node, takenBy(symbol), inInput, infer)
  if (symbol !== undefined) checkSteered(checking, symbol, fields, inInput.path)
  checkApproval(checking, properties.get("approval"), inner, infer)
  if (isRepeated) checkRounds(checking, node, properties, symbol, inner, infer)
  if (symbol === undefined) return errorType
  const given = isRepeated ? repeated(symbol.output) : symbol.output
  return skipsFailure(node) ? maybe(given) : given
}

/** `workflow.w`; undefined also where more follows it. */
export function resolveWorkflow(checking: CheckContext, chain: Syntax.Chain, path: string): WorkflowSymbol | undefined {
  const symbol = resolveNamed(checking, chain, "workflow", checking.workflows, path)
  return chain.steps.length > 1 ? undefined : symbol
}

/** The input fields that a call, or the bindings of a use, may set. */
export function takenBy(symbol: WorkflowSymbol | undefined): Taken {
  return { what: "workflow", one: "input", input: symbol?.input, set: new Set(), isBroken: false }
}

function repeated(result: RecordType): RecordType {
  const fields = [
    { name: "result", type: result },
    { name: "rounds", type: integerType },
    { name: "done", type: booleanType },
  ]
  return { kind: "record", fields }
}

/** When a repetition ends, and what changes from one round to the next. */
function checkRounds(
  checking: CheckContext,
  node: Syntax.InvokeNode,
  properties: ReadonlyMap<string, Syntax.Property>,
  symbol: WorkflowSymbol | undefined,
  scope: Scope,
  infer: Infer,
): void {
  const after: Scope = {
    ...withoutCalls(withoutSecrets(scope)),
    result: symbol?.output ?? errorType,
    hasRound: true,
  }
  const until = expressionOf(checking, properties.get("until"), scope.path)
  if (until !== undefined) {
    inferCondition(checking, until, { ...at(after, "until"), place: placeOfUntil }, infer)
  }
  const inNext = { ...at(after, "next"), place: "the `next` of a repetition" }
  const next = properties.get("next")
  const fields = blockOf(checking, next, inNext.path)?.items ?? []
  checkGiven(checking, fields, takenBy(symbol), inNext, infer)
  if (symbol !== undefined) checkSteered(checking, symbol, fields, inNext.path)
  const isOne = expressionIn(node.block, "at_most") === undefined || numberIn(node.block, "at_most") === 1
  if (next !== undefined || isOne || checking.skipped.hasError(node)) return
  const message = "A repetition of more than one round needs `next`"
  const hint = "Add `next { … }` with the input fields that the next round takes from `result`."
  checking.report("missing-property", inNext.path, node.target, message, hint)
}
