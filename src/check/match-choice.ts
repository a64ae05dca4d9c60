import { membersOf } from "../types/members-of.ts"
import { plainType } from "../types/relations.ts"
import type { Type, TypeTable, VariantType } from "../types/types.ts"
import { asWritten, listed } from "./known-list.ts"

/** A case of a variant, a string, or a boolean. */
export type Label = string | boolean

/** What a match chooses by: a variant, or (without one) an enum, string literals or a boolean. */
export interface Choice {
  readonly variant: VariantType | undefined
  /** The cases or values that there are, in the order of the type. */
  readonly labels: ReadonlySet<Label>
}

export function choiceOf(type: Type, types: TypeTable): Choice | undefined {
  const plain = plainType(type, types)
  if (plain.kind === "variant") return { variant: plain, labels: new Set(plain.cases.map(({ name }) => name)) }
  if (plain.kind === "boolean") return { variant: undefined, labels: new Set([true, false]) }
  const labels = new Set<Label>()
  for (const member of membersOf(plain, types)) {
    if (member.kind === "literal") labels.add(member.value)
    else if (member.kind === "enum") for (const value of member.values) labels.add(value)
    else return undefined
  }
  return { variant: undefined, labels }
}

/** A branch as it is written: `true` is the boolean, `"true"` a string. */
export function showLabel(label: Label): string {
  if (typeof label === "boolean") return String(label)
  return isWord(label) ? JSON.stringify(label) : asWritten(label)
}

/** "`a`, `b` and 7 more" */
export function listLabels(labels: ReadonlySet<Label>): string {
  return listed(shownLabels(labels), labels.size)
}

/** One after the other, as far as they are asked for. */
export function* shownLabels(labels: ReadonlySet<Label>): Generator<string> {
  for (const label of labels) yield showLabel(label)
}

function isWord(name: string): boolean {
  return name === "true" || name === "false" || name === "null"
}
