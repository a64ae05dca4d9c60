import { writeDefault } from "../source/hint.ts"
import type * as Syntax from "../syntax/tree.ts"
import type { CheckContext } from "./check-context.ts"
import { errorType, integerType } from "../types/primitives.ts"
import { elementType } from "../types/element-type.ts"
import { fieldNamed } from "../types/field-named.ts"
import { fieldType } from "../types/field-type.ts"
import { knownList } from "./known-list.ts"
import type { LoopVariable } from "./program.ts"
import { membersOf } from "../types/members-of.ts"
import { nullable, resolve } from "../types/relations.ts"
import { declareUnique } from "./repeated-name.ts"
import type { Infer, Scope } from "./scope.ts"
import { showType } from "../types/show-type.ts"
import type { Type } from "../types/types.ts"

/** The variables of a loop: the element, or some of its fields. The list itself does not see them. `models`: those of a loop over models. */
export function loopVariables(
  checking: CheckContext,
  { pattern, index, items }: Syntax.Loop,
  scope: Scope,
  infer: Infer,
  known: { readonly models?: Map<string, LoopVariable> | undefined } = {},
): Map<string, LoopVariable> {
  const { models } = known
  if (models !== undefined) return withIndex(checking, models, index, scope.path)
  const variables = new Map<string, LoopVariable>()
  const list = infer(checking, items, scope)
  const element = listElement(checking, list, items, scope.path)
  if (pattern.kind === "item") {
    variables.set(pattern.name.text, { name: pattern.name, type: element })
    return withIndex(checking, variables, index, scope.path)
  }
  const seen = new Set<string>()
  const unknown: UnknownField[] = []
  for (const { field, variable } of pattern.body.items) {
    const type = patternField(checking, element, field, items, scope.path, unknown)
    if (!declareUnique(checking, seen, variable, scope.path)) variables.set(variable.text, { name: variable, type })
  }
  reportUnknown(checking, unknown, items, scope.path)
  return withIndex(checking, variables, index, scope.path)
}

/** And the variable for the position in the list. */
function withIndex(
  checking: CheckContext,
  variables: Map<string, LoopVariable>,
  index: Syntax.Name | undefined,
  path: string,
): Map<string, LoopVariable> {
  if (index === undefined || declareUnique(checking, new Set(variables.keys()), index, path)) return variables
  return variables.set(index.text, { name: index, type: integerType })
}

/** Whether the variables of a step's loop are unknown because of an error: others may be meant. */
export function hasBrokenLoop(
  checking: CheckContext,
  { loop, brokenLoop }: Syntax.StepDeclaration,
  variables: ReadonlyMap<string, LoopVariable>,
): boolean {
  return brokenLoop || (loop !== undefined && isBrokenPattern(checking, loop.pattern, variables))
}

/** Whether the variables of a pattern are unknown because of an error. */
export function isBrokenPattern(
  checking: CheckContext,
  pattern: Syntax.Pattern,
  variables: ReadonlyMap<string, LoopVariable>,
): boolean {
  const isUnknown = pattern.kind === "fields" && [...variables.values()].some(({ type }) => type.kind === "error")
  return isUnknown || checking.skipped.hasError(pattern)
}

function listElement(checking: CheckContext, list: Type, items: Syntax.Expression, path: string): Type {
  const element = elementType(list, checking.types)
  if (element !== undefined) return element
  const written = checking.quote(items)
  if (list.kind !== "null" && nullable(list, checking.types)) {
    checking.report("nullable-access", path, items, `\`${written}\` may be null`, writeDefault(written, "[]"))
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
  unknown: UnknownField[],
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
    const isKnown = members.some((member) => member.kind === "record" && fieldNamed(member, field.text) !== undefined)
    unknown.push({ field, isKnown, members })
  } else {
    const hint = "Name the whole element: `for item in …`."
    checking.report("type-mismatch", path, field, `${each} is ${showType(element)} and has no fields`, hint)
  }
  return errorType
}

interface UnknownField {
  readonly field: Syntax.Name
  /** Some element has it. */
  readonly isKnown: boolean
  readonly members: readonly Type[]
}

/** One message for all fields that a pattern names and no element has, and one for those that some elements have. */
function reportUnknown(
  checking: CheckContext,
  unknown: readonly UnknownField[],
  items: Syntax.Expression,
  path: string,
): void {
  for (const [isKnown, which] of [
    [false, "no element"],
    [true, "not every element"],
  ] as const) {
    const [first, ...others] = unknown.filter((one) => one.isKnown === isKnown)
    if (first === undefined) continue
    const { field, members } = first
    const [model] = members
    const common = model?.kind === "record" ? model.fields.filter(({ name }) => isInAll(members, name)) : []
    const names = [field, ...others.map((one) => one.field)].map(({ text }) => text).join(", ")
    const message = `Unknown reference: ${names}, which ${which} of \`${checking.quote(items)}\` has`
    const intro = members.length > 1 ? "All of them have" : "Its fields are"
    checking.report("unknown-reference", path, field, message, knownList(checking, field.text, common, intro))
  }
}

function isInAll(members: readonly Type[], name: string): boolean {
  return members.every((member) => member.kind === "record" && fieldNamed(member, name) !== undefined)
}
