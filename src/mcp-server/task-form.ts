import type { JsonObject } from "../base/json-value.ts"
import { formIn } from "../log/elicitation-answer.ts"
import type { Question } from "../log/events.ts"
import { fromJsonSchema } from "../types/from-json-schema.ts"
import { nullable, resolve, withoutNull } from "../types/relations.ts"
import type { Field, TypeTable } from "../types/types.ts"

/** The form that a question is to an MCP client: one level of strings, numbers, booleans and enums. Null for other questions. */
export function taskForm({ kind, schema }: Question): JsonObject | null {
  // An approval is never a form: whoever approves must see the call.
  if (kind === "approval") return null
  if (kind === "elicitation") return formIn(schema)
  const { type, types } = fromJsonSchema(schema)
  const record = resolve(type, types)
  if (record.kind !== "record") return null
  const fields: [string, JsonObject][] = []
  for (const field of record.fields) {
    const plain = plainSchema(field, types)
    if (plain === null) return null
    fields.push([field.name, plain])
  }
  const required = record.fields.filter((field) => !nullable(field.type, types)).map(({ name }) => name)
  return { type: "object", properties: Object.fromEntries(fields), required }
}

function plainSchema({ type, doc }: Field, types: TypeTable): JsonObject | null {
  const plain = resolve(withoutNull(type, types), types)
  const description = doc === undefined ? {} : { description: doc }
  switch (plain.kind) {
    case "string":
    case "number":
    case "integer":
    case "boolean":
      return { type: plain.kind, ...description }
    case "enum":
      return { type: "string", enum: [...plain.values], ...description }
    case "literal":
      return { type: "string", enum: [plain.value], ...description }
    default:
      return null
  }
}
