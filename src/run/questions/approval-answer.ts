import { isJsonObject } from "../../base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import { toJsonSchema } from "../../types/json-schema.ts"
import type { RecordType } from "../../types/types.ts"

/** What an approval is answered with, whatever the tool. */
export const approvalType: RecordType = {
  kind: "record",
  fields: [
    { name: "approve", type: { kind: "boolean" } },
    { name: "note", type: { kind: "union", members: [{ kind: "string" }, { kind: "null" }] } },
  ],
}

export const approvalSchema: JsonObject = toJsonSchema(approvalType, {}, "answer")

export function readApproval(answer: JsonValue): { readonly approve: boolean; readonly note: string | null } {
  const { approve, note } = isJsonObject(answer) ? answer : {}
  return { approve: approve === true, note: typeof note === "string" && note.trim() !== "" ? note : null }
}
