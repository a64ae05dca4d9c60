import { resolve, withoutNull } from "../types/relations.ts"
import type { Type, TypeTable, VariantType } from "../types/types.ts"
import { asWritten } from "./known-list.ts"

/** What a match chooses by. */
export type Choice =
  | { readonly kind: "variant"; readonly variant: VariantType }
  /** An enum, string literals, or a boolean. */
  | { readonly kind: "plain"; readonly values: readonly (string | boolean)[] }

export function choiceOf(type: Type, types: TypeTable): Choice | undefined {
  const plain = resolve(withoutNull(type, types), types)
  if (plain.kind === "variant") return { kind: "variant", variant: plain }
  if (plain.kind === "boolean") return { kind: "plain", values: [true, false] }
  const members = plain.kind === "union" ? plain.members : [plain]
  const values: string[] = []
  for (const member of members) {
    if (member.kind === "literal") values.push(member.value)
    else if (member.kind === "enum") values.push(...member.values)
    else return undefined
  }
  return { kind: "plain", values: [...new Set(values)] }
}

/** The cases or values that there are. */
export function knownLabels(choice: Choice): readonly (string | boolean)[] {
  return choice.kind === "variant" ? choice.variant.cases.map(({ name }) => name) : choice.values
}

/** A branch as it is written: `true` is the boolean, `"true"` a string. */
export function showLabel(label: string | boolean): string {
  if (typeof label === "boolean") return String(label)
  return isWord(label) ? JSON.stringify(label) : asWritten(label)
}

function isWord(name: string): boolean {
  return name === "true" || name === "false" || name === "null"
}
