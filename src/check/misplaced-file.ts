import { write, type Hint } from "../source/hint.ts"
import type { Span } from "../source/span.ts"
import type * as Syntax from "../syntax/tree.ts"
import { elementType } from "../types/element-type.ts"
import { holdsFile } from "../types/holds-file.ts"
import { plainType } from "../types/relations.ts"
import type { Type } from "../types/types.ts"
import type { CheckContext } from "./check-context.ts"
import type { Scope } from "./scope.ts"

/** Reports a file where its text would be written: what it says is read by `text_of`, and shown to a model by `asset`. */
export function refuseFileInText(
  checking: CheckContext,
  node: Syntax.Expression,
  type: Type,
  scope: Pick<Scope, "path" | "assets">,
): boolean {
  if (!holdsFile(type, checking.types)) return false
  const plain = plainType(type, checking.types)
  const isOne = plain.kind === "file"
  const isList = elementType(plain, checking.types)?.kind === "file"
  const message = `${isOne ? "A file" : isList ? "A list of files" : "A value with a file in it"} is no part of a text`
  checking.report("type-mismatch", scope.path, node, message, howToShow(checking, node, isOne, isList, scope))
  return true
}

function howToShow(
  checking: CheckContext,
  node: Syntax.Expression,
  isOne: boolean,
  isList: boolean,
  { assets }: Pick<Scope, "assets">,
): Hint {
  const written = checking.quote(node)
  const text = `\`text_of(${written})\` for its text`
  const asset = `asset ${written}`
  if (assets === "value" && isOne)
    return write(asset, undefined, `Write \`${asset}\` to show it to the model, or ${text}.`)
  if (assets === "value" && isList) return write(asset, undefined, `Write \`${asset}\` to show them to the model.`)
  if (isOne) return write(`text_of(${written})`, undefined, `Write ${text}, or read its \`name\`.`)
  return "Read what of it is text: the `name` of a file, or `text_of(…)`."
}

/** Reports a file that is compared with something else than null. */
export function refuseComparedFile(checking: CheckContext, node: Span, types: readonly Type[], path: string): boolean {
  if (!types.some((type) => holdsFile(type, checking.types))) return false
  const hint = "Compare its `name`, `media_type` or `bytes`."
  checking.report("type-mismatch", path, node, "A file can be compared with null only", hint)
  return true
}
