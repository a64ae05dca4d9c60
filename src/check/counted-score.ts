import { membersOf } from "../types/members-of.ts"
import { resolve, withoutNull } from "../types/relations.ts"
import type { Field, RecordType, Type, TypeTable } from "../types/types.ts"
import type { ScoreSymbol } from "./program.ts"

/** What of a score is counted. */
export interface CountedScore {
  /** The field of the judge's output; null for a score that is computed. */
  readonly field: string | null
  /** The values that have shares; null for a number, which has a mean. */
  readonly values: readonly string[] | null
}

/** The first field that is no text. */
export function countedField({ fields }: RecordType, types: TypeTable): Field | undefined {
  return fields.find(({ type }) => resolve(withoutNull(type, types), types).kind !== "string")
}

/** Undefined where nothing of it can be counted, which the check of the score says. */
export function countedScore({ value, output }: ScoreSymbol, types: TypeTable): CountedScore | undefined {
  if (value !== undefined) return countedType(value, null, types)
  const field = output && countedField(output, types)
  return field && countedType(field.type, field.name, types)
}

function countedType(type: Type, field: string | null, types: TypeTable): CountedScore | undefined {
  const members = membersOf(withoutNull(type, types), types).map((member) => resolve(member, types))
  if (members.every(({ kind }) => kind === "number" || kind === "integer")) return { field, values: null }
  const values = members.map((member): readonly string[] | null => {
    if (member.kind === "boolean") return ["true", "false"]
    if (member.kind === "literal") return [member.value]
    return member.kind === "enum" ? member.values : null
  })
  return values.includes(null) ? undefined : { field, values: [...new Set(values.flatMap((some) => some ?? []))] }
}
