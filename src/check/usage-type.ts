import { integerType, numberType } from "../types/primitives.ts"
import { maybe } from "../types/relations.ts"
import type { RecordType, Type } from "../types/types.ts"

/** What `usage` is in expressions that look at a run after its end. */
export const usageType: RecordType = recordOf({
  input_tokens: integerType,
  output_tokens: integerType,
  cached_tokens: integerType,
  written_tokens: integerType,
  reasoning_tokens: integerType,
  cost: maybe(numberType),
})

export function recordOf(fields: Readonly<Record<string, Type>>): RecordType {
  return { kind: "record", fields: Object.entries(fields).map(([name, type]) => ({ name, type })) }
}
