import type { Program } from "../../check/program.ts"
import { expressionIn } from "../../syntax/property-of.ts"
import { plainType } from "../../types/relations.ts"
import type { RecordType } from "../../types/types.ts"

/** The answers to the questions of a workflow; what a question begins with may be left out. */
export function answersOf({ asks, expressionTypes, types }: Program): RecordType {
  const fields = [...asks].map(([name, { output, declaration }]) => {
    const prefill = expressionIn(declaration.body, "prefill")
    const begun = prefill === undefined ? undefined : expressionTypes.get(prefill)
    const known = begun === undefined ? undefined : plainType(begun, types)
    const given = new Set(known?.kind === "record" ? known.fields.map((field) => field.name) : [])
    const answer = output.fields.map((field) =>
      given.has(field.name) ? { ...field, hasDefault: true as const } : field,
    )
    return { name, type: { kind: "record", fields: answer } as const }
  })
  return { kind: "record", fields }
}
