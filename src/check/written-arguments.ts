import { re2Pattern } from "../base/re2-pattern.ts"
import type * as Syntax from "../syntax/tree.ts"
import { elementType } from "../types/element-type.ts"
import { fieldType } from "../types/field-type.ts"
import { membersOf } from "../types/members-of.ts"
import { booleanType, numberType, stringType } from "../types/primitives.ts"
import { isAssignable, isLenient, nullable, resolve, union, withoutNull } from "../types/relations.ts"
import { showType } from "../types/show-type.ts"
import type { Type } from "../types/types.ts"
import type { CheckContext } from "./check-context.ts"
import { constantOf } from "./constants.ts"
import { isTimezone } from "./cron.ts"
import type { Taken } from "./function-table.ts"
import { asWritten, listed, namesOf, nearAnd } from "./known-list.ts"
import type { Scope } from "./scope.ts"

const whats = { field: "The name of a field", pattern: "A pattern", timezone: "A timezone" } as const

/** Reports an argument that must be written out and is not, or that names nothing. True when it is right. `list` is the first argument. */
export function checkWritten(
  checking: CheckContext,
  node: Syntax.Expression,
  written: NonNullable<Taken["written"]>,
  list: { readonly node: Syntax.Expression; readonly type: Type },
  { path }: Scope,
): boolean {
  const value = constantOf(node)
  if (typeof value !== "string") {
    const code = written === "pattern" ? "invalid-pattern" : "wrong-arguments"
    const message = `${whats[written]} is written out: it is known before the workflow runs`
    checking.report(code, path, node, message, "Write the text itself, in quotes and without `{{ }}`.")
    return false
  }
  switch (written) {
    case "pattern": {
      const program = re2Pattern(value)
      if (!("problem" in program)) return true
      const shown = JSON.stringify(value.slice(program.start, program.end))
      const hint = "Patterns have RE2's syntax; a backslash is written twice: `\\\\d`."
      checking.report("invalid-pattern", path, node, `This is not a pattern: ${program.problem} (${shown})`, hint)
      return false
    }
    case "timezone":
      if (isTimezone(value)) return true
      checking.report(
        "type-mismatch",
        path,
        node,
        `Unknown timezone: ${value}`,
        "Write a name such as `Europe/Berlin`.",
      )
      return false
    case "field":
      return isKey(checking, node, value, list, path)
  }
}

const keyType = union([stringType, numberType, booleanType])

/** Whether every element has the field, and elements can be grouped by it. */
function isKey(
  checking: CheckContext,
  node: Syntax.Expression,
  name: string,
  list: { readonly node: Syntax.Expression; readonly type: Type },
  path: string,
): boolean {
  const { types } = checking
  const element = elementType(list.type, types)
  if (element === undefined || isLenient(element)) return true
  const type = fieldType(element, name, types)
  const quoted = checking.quote(list.node)
  if (type === undefined) {
    const fields = membersOf(element, types).flatMap((member) => {
      const known = resolve(member, types)
      return known.kind === "record" ? known.fields : []
    })
    const message = `Unknown reference: ${name}, which not every element of \`${quoted}\` has`
    const near = checking.suggest(name, namesOf(fields))
    const list = `Its fields are ${listed(namesOf(fields), fields.length)}.`
    checking.report("unknown-reference", path, node, message, nearAnd(near && JSON.stringify(near), list))
    return false
  }
  if (isLenient(type)) return true
  if (!isAssignable(withoutNull(type, types), keyType, types)) {
    const message = `Elements are grouped by strings, numbers or booleans, found ${showType(type)}`
    checking.report("type-mismatch", path, node, message)
    return false
  }
  if (!nullable(type, types)) return true
  const fallback = isAssignable(withoutNull(type, types), numberType, types) ? "0" : '""'
  const key = asWritten(name)
  const hint = `Write \`[{ ...item, ${key}: item.${key} ?? ${fallback} } for item in ${quoted}]\`.`
  checking.report("nullable-access", path, node, `\`${name}\` may be null`, hint)
  return false
}
