import { connectionHeaders, isHeaderName, isHeaderValue } from "../../base/header-text.ts"
import type * as Syntax from "../../syntax/tree.ts"
import type { CheckContext } from "../check-context.ts"
import { literalsIn } from "../outcomes-of.ts"
import { refuseKey } from "../repeated-name.ts"

/** A header value that would end the header. What is only known at run time is checked again there. */
function breaksHeader(value: string): boolean {
  return /[\r\n\0]/.test(value)
}

/** Reports what cannot be a header: its name, one that is there twice in other letters, or its value. */
export function checkHeaders(checking: CheckContext, fields: readonly Syntax.ValueField[], path: string): void {
  const seen = new Set<string>()
  for (const field of fields) {
    const name = field.name.text
    const fieldPath = `${path}.${name}`
    const lower = name.toLowerCase()
    if (refuseKey(checking, field.name, fieldPath)) continue
    checkHeaderName(checking, field.name, fieldPath)
    if (seen.has(lower)) {
      const message = `The header \`${name}\` is here already`
      checking.report("duplicate-field", fieldPath, field.name, message, "Remove one of the two.")
    }
    seen.add(lower)
    checkValue(checking, field.value, fieldPath)
  }
}

/** False where it is reported. */
export function checkHeaderName(checking: CheckContext, name: Syntax.Name, path: string): boolean {
  const { text } = name
  if (!isHeaderName(text)) {
    const hint = "A header's name is made of letters, digits and `-`."
    checking.report("invalid-header", path, name, `\`${text}\` cannot be the name of a header`, hint)
    return false
  }
  if (!connectionHeaders.has(text.toLowerCase())) return true
  const message = `The header \`${text}\` frames the message and is set by the service alone`
  checking.report("invalid-header", path, name, message, "Remove it.")
  return false
}

function checkValue(checking: CheckContext, node: Syntax.Expression, path: string): void {
  for (const literal of literalsIn(node)) {
    if (literal.texts.some(breaksHeader)) {
      const message = "A header value may not contain a line break or NUL"
      checking.report("invalid-header", path, literal, message, "Write it on one line.")
    } else if (!literal.texts.every(isHeaderValue)) {
      const hint = "Encode it, for instance as Base64."
      checking.report("invalid-header", path, literal, "A header value holds Latin letters and signs only", hint)
    }
  }
}
