import { example } from "../source/hint.ts"
import { isCutOff } from "../syntax/property-of.ts"
import type * as Syntax from "../syntax/tree.ts"
import type { CheckContext } from "./check-context.ts"
import { nameOf, unknownReference } from "./infer-steps.ts"

/** `model.m` or `tool.t`, and nothing after it: what is declared of that kind under that name. */
export function resolveNamed<Declared>(
  checking: CheckContext,
  chain: Syntax.Chain,
  kind: "model" | "workflow" | Syntax.ImportKind,
  table: ReadonlyMap<string, Declared>,
  path: string,
): Declared | undefined {
  const { base, steps } = chain
  const [step, extra] = steps
  if (base.kind === "missing-expression" || (step === undefined && isCutOff(chain))) return undefined
  if (base.kind !== "name" || base.text !== kind || step?.kind !== "field") {
    const [first = "name"] = table.keys()
    const meant = base.kind === "name" && table.has(base.text) ? base.text : first
    const message = `Expected a ${kind}, found \`${checking.quote(chain)}\``
    checking.report("type-mismatch", path, chain, message, example(`${kind}.${meant}`))
    return undefined
  }
  const id = `${kind}.${step.name.text}`
  const found = table.get(step.name.text)
  if (found === undefined) unknownReference(checking, chain, step.name, () => table.keys(), path)
  else {
    checking.refer(id, step.name)
    if (extra !== undefined && (extra.kind !== "index" || extra.index !== undefined)) {
      unknownReference(checking, chain, nameOf(checking, extra), () => [], path, `Write \`${id}\`.`)
    }
  }
  return found
}
