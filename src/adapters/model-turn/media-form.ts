import type { OutputContract } from "../../ports/model.ts"
import { elementType } from "../../types/element-type.ts"
import { plainType } from "../../types/relations.ts"

/** Where the contract of an agent has what its model makes. */
export interface MediaForm {
  readonly field: string
  readonly isList: boolean
  /** The field of the text beside it; null where there is none. */
  readonly textField: string | null
}

/** Null for a contract without files. */
export function mediaForm({ type: { fields }, types }: OutputContract): MediaForm | null {
  const isFile = (type: Parameters<typeof plainType>[0]): boolean => plainType(type, types).kind === "file"
  for (const { name, type } of fields) {
    const element = elementType(plainType(type, types), types)
    if (!isFile(type) && !(element !== undefined && isFile(element))) continue
    const textField = fields.find((field) => field.name !== name)?.name ?? null
    return { field: name, isList: !isFile(type), textField }
  }
  return null
}
