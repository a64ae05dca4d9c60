import type * as Syntax from "../syntax/tree.ts"
import type { CheckContext } from "./check-context.ts"
import { fieldNamed } from "../types/field-named.ts"
import { infer } from "./infer.ts"
import { knownList } from "./known-list.ts"
import type { LoopVariable } from "./program.ts"
import { nullable, resolve, union } from "../types/relations.ts"
import { declareUnique } from "./repeated-name.ts"
import type { Scope } from "./scope.ts"
import { showType } from "../types/show-type.ts"
import type { Type } from "../types/types.ts"

const anyType: Type = { kind: "any" }
const errorType: Type = { kind: "error" }

/** The variables of an agent's loop: the element, or some of its fields. The list itself does not see them. */
export function loopVariables(
  checking: CheckContext,
  { loop }: Syntax.AgentDeclaration,
  scope: Scope,
): Map<string, LoopVariable> {
  const variables = new Map<string, LoopVariable>()
  if (loop === undefined) return variables
  const { pattern, items } = loop
  const list = infer(checking, items, { ...scope, place: "the list of a loop" })
  const element = elementType(checking, list, items, scope.path)
  if (pattern.kind === "item") {
    variables.set(pattern.name.text, { name: pattern.name, type: element })
    return variables
  }
  const seen = new Set<string>()
  for (const { field, variable } of pattern.body.items) {
    const type = fieldType(checking, element, field, items, scope.path)
    if (!declareUnique(checking, seen, variable, scope.path)) variables.set(variable.text, { name: variable, type })
  }
  return variables
}

function elementType(checking: CheckContext, list: Type, items: Syntax.Expression, path: string): Type {
  const resolved = resolve(list, checking.types)
  switch (resolved.kind) {
    case "array":
      return resolved.element
    case "tuple":
      return union(resolved.elements)
    case "any":
      return anyType
    case "error":
      return errorType
    default: {
      const written = checking.quote(items)
      if (nullable(resolved, checking.types) && resolved.kind !== "null") {
        checking.report("nullable-access", path, items, `\`${written}\` may be null`, `Write \`${written} ?? []\`.`)
      } else {
        checking.report("not-iterable", path, items, `A loop needs an array, found ${showType(list)}`)
      }
      return errorType
    }
  }
}

/** The type of the field that a pattern takes from each element. */
function fieldType(
  checking: CheckContext,
  element: Type,
  field: Syntax.Name,
  items: Syntax.Expression,
  path: string,
): Type {
  const resolved = resolve(element, checking.types)
  const each = `An element of \`${checking.quote(items)}\``
  switch (resolved.kind) {
    case "record": {
      const found = fieldNamed(resolved, field.text)
      if (found !== undefined) return found.type
      if (checking.incomplete.has(resolved)) return errorType
      const hint = knownList(checking, field.text, resolved.fields, "Its fields are")
      const message = `Unknown reference: ${field.text}, which no element of \`${checking.quote(items)}\` has`
      checking.report("unknown-reference", path, field, message, hint)
      return errorType
    }
    case "any":
    case "object":
      return anyType
    case "error":
      return errorType
    case "variant": {
      const hint = "Name the whole element, and choose a case with `#case` or `match`."
      checking.report("variant-access", path, field, `${each} is a variant: which case is meant?`, hint)
      return errorType
    }
    case "array":
    case "tuple": {
      const hint = "Name the whole element, and read its elements with `[0]` or `.*.`."
      checking.report("array-access", path, field, `${each} is an array`, hint)
      return errorType
    }
    default: {
      if (nullable(resolved, checking.types)) {
        const hint = "Name the whole element, and read its fields with `?.`."
        checking.report("nullable-access", path, field, `${each} may be null`, hint)
      } else {
        const hint = "Name the whole element: `for item in …`."
        checking.report("type-mismatch", path, field, `${each} is ${showType(element)} and has no fields`, hint)
      }
      return errorType
    }
  }
}
