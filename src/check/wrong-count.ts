import { write } from "../source/hint.ts"
import type * as Syntax from "../syntax/tree.ts"
import type { CheckContext } from "./check-context.ts"
import { inOneList } from "./foreign-functions.ts"
import type { FunctionRow } from "./function-table.ts"
import type { Infer, Scope } from "./scope.ts"
import { typeOfText } from "./type-of-text.ts"

/** Reports too many or too few arguments. */
export function wrongCount(
  checking: CheckContext,
  node: Syntax.FunctionNode,
  row: FunctionRow,
  scope: Scope,
  infer: Infer,
): void {
  const count = node.items.length
  const message = `\`${node.name.text}\` does not take ${count === 1 ? "1 argument" : `${count} arguments`}`
  const forms = row.forms.map((one) => `\`${one}\``).join(" or ")
  const meant = inOneList(checking, node, (text) => typeOfText(checking, text, scope, infer))
  const hint =
    meant === undefined ? `The form is ${forms}.` : write(meant, node, `Write \`${meant}\`: the form is ${forms}.`)
  checking.report("wrong-arguments", scope.path, node, message, hint)
}
