import { childPath } from "../../src/base/child-path.ts"
import { caseRecord, resolve } from "../../src/types/relations.ts"
import type { Field, Type, TypeTable } from "../../src/types/types.ts"
import type { Draft } from "./draft.ts"
import { isDraftArray, isDraftObject } from "./draft.ts"

/** Paths of the texts that a type requires and that a person has left empty: they fit, but are seldom meant. */
export function emptyTexts(value: Draft, type: Type, types: TypeTable, path: string): string[] {
  const known = resolve(type, types)
  switch (known.kind) {
    case "string":
      return value === "" ? [path] : []
    case "record":
      return ofFields(value, known.fields, types, path)
    case "variant": {
      const tag = isDraftObject(value) ? value[known.tag] : undefined
      const record = typeof tag === "string" ? caseRecord(known, tag) : undefined
      return record === undefined ? [] : ofFields(value, record.fields, types, path)
    }
    case "array":
      return isDraftArray(value)
        ? value.flatMap((item, at) => emptyTexts(item, known.element, types, childPath(path, at)))
        : []
    case "tuple":
      return isDraftArray(value)
        ? known.elements.flatMap((element, at) => emptyTexts(value[at], element, types, childPath(path, at)))
        : []
    default:
      return []
  }
}

/** A field with a default may be emptied: its author has said what it is without anybody. */
function ofFields(value: Draft, fields: readonly Field[], types: TypeTable, path: string): string[] {
  if (!isDraftObject(value)) return []
  return fields.flatMap(({ name, type, hasDefault }) =>
    hasDefault === true ? [] : emptyTexts(value[name], type, types, childPath(path, name)),
  )
}
