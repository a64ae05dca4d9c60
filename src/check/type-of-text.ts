import { parse } from "../syntax/parser.ts"
import type { Type } from "../types/types.ts"
import type { CheckContext } from "./check-context.ts"
import type { Infer, Scope } from "./scope.ts"

/** The type of an expression, if it stood in this place; undefined where something would be reported in it. For hints. */
export function typeOfText(checking: CheckContext, text: string, scope: Scope, infer: Infer): Type | undefined {
  if (checking.trials-- <= 0) return undefined
  const { tree } = parse(`dynamic { x: ${text} }`)
  const [dynamic] = tree.declarations
  const field = dynamic?.kind === "dynamic" ? dynamic.body.items[0] : undefined
  if (field === undefined || tree.errors.length > 0) return undefined
  const trial = checking.withTree(tree)
  const type = infer(trial, field.value, scope)
  return trial.diagnostics.length === 0 ? type : undefined
}
