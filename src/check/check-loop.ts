import type * as Syntax from "../syntax/tree.ts"
import type { CheckContext } from "./check-context.ts"
import { errorType } from "../types/primitives.ts"
import { elementType } from "../types/element-type.ts"
import { fieldNamed } from "../types/field-named.ts"
import { fieldType } from "../types/field-type.ts"
import { infer } from "./infer.ts"
import { knownList } from "./known-list.ts"
import type { LoopVariable } from "./program.ts"
import { membersOf } from "../types/members-of.ts"
import { nullable, resolve } from "../types/relations.ts"
import { declareUnique } from "./repeated-name.ts"
import type { Scope } from "./scope.ts"
import { showType } from "../types/show-type.ts"
import type { Type } from "../types/types.ts"

/** The variables of a step's loop: the element, or some of its fields. The list itself does not see them. */
export function loopVariables(
  checking: CheckContext,
  { loop }: Syntax.StepDeclaration,
  scope: Scope,
): Map<string, LoopVariable> {
  const variables = new Map<string, LoopVariable>()
  if (loop === undefined) return variables
  const { pattern, items } = loop
  const list = infer(checking, items, { ...scope, place: "the list of a loop" })
  const element = listElement(checking, list, items, scope.path)
  if (pattern.kind === "item") {
    variables.set(pattern.name.text, { name: pattern.name, type: element })
    return variables
  }
  const seen = new Set<string>()
  for (const { field, variable } of pattern.body.items) {
    const type = patternField(checking, element, field, items, scope.path)
    if (!declareUnique(checking, seen, variable, scope.path)) variables.set(variable.text, { name: variable, type })
  }
  return variables
}

/** Whether the variables of a step's loop are unknown because of an error: others may be meant. */
export function hasBrokenLoop(
  checking: CheckContext,
  { loop, brokenLoop }: Syntax.StepDeclaration,
  variables: ReadonlyMap<string, LoopVariable>,
): boolean {
  if (brokenLoop || loop === undefined) return brokenLoop
  const isUnknown = loop.pattern.kind === "fields" && [...variables.values()].some(({ type }) => type.kind === "error")
  return isUnknown || checking.skipped.hasError(loop.pattern)
}

function listElement(checking: CheckContext, list: Type, items: Syntax.Expression, path: string): Type {
  const element = elementType(list, checking.types)
  if (element !== undefined) return element
  const written = checking.quote(items)
  if (list.kind !== "null" && nullable(list, checking.types)) {
    checking.report("nullable-access", path, items, `\`${written}\` may be null`, `Write \`${written} ?? []\`.`)
  } else checking.report("not-iterable", path, items, `A loop needs an array, found ${showType(list)}`)
  return errorType
}

/** The type of the field that a pattern takes from each element. */
function patternField(
  checking: CheckContext,
  element: Type,
  field: Syntax.Name,
  items: Syntax.Expression,
  path: string,
): Type {
  const { types, incomplete } = checking
  const found = fieldType(element, field.text, types)
  if (found !== undefined) return found
  const resolved = resolve(element, types)
  const members = membersOf(resolved, types).map((member) => resolve(member, types))
  if (members.some((member) => member.kind === "record" && incomplete.has(member))) return errorType
  const each = `An element of \`${checking.quote(items)}\``
  if (nullable(resolved, types)) {
    const hint = "Name the whole element, and read its fields with `?.`."
    checking.report("nullable-access", path, field, `${each} may be null`, hint)
  } else if (members.some(({ kind }) => kind === "variant")) {
    const hint = "Name the whole element, and choose a case with `#case` or `match`."
    checking.report("variant-access", path, field, `${each} is a variant: which case is meant?`, hint)
  } else if (elementType(resolved, types) !== undefined) {
    const hint = "Name the whole element, and read its elements with `[0]` or `.*.`."
    checking.report("array-access", path, field, `${each} is an array`, hint)
  } else if (members.every(({ kind }) => kind === "record")) {
    unknownField(checking, members, field, items, path)
  } else {
    const hint = "Name the whole element: `for item in …`."
    checking.report("type-mismatch", path, field, `${each} is ${showType(element)} and has no fields`, hint)
  }
  return errorType
}

function unknownField(
  checking: CheckContext,
  members: readonly Type[],
  field: Syntax.Name,
  items: Syntax.Expression,
  path: string,
): void {
  const [first] = members
  const isKnown = members.some((member) => member.kind === "record" && fieldNamed(member, field.text) !== undefined)
  const common = first?.kind === "record" ? first.fields.filter(({ name }) => isInAll(members, name)) : []
  const which = isKnown ? "not every element" : "no element"
  const message = `Unknown reference: ${field.text}, which ${which} of \`${checking.quote(items)}\` has`
  const intro = members.length > 1 ? "All of them have" : "Its fields are"
  checking.report("unknown-reference", path, field, message, knownList(checking, field.text, common, intro))
}

function isInAll(members: readonly Type[], name: string): boolean {
  return members.every((member) => member.kind === "record" && fieldNamed(member, name) !== undefined)
}
