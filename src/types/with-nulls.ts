import { isJsonObject } from "../base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../base/json-value.ts"
import { nullable, resolve } from "./relations.ts"
import type { RecordType, Type, TypeTable } from "./types.ts"

/** The value with null for the fields of records that may be null and are left out, at every level. */
export function withNulls(value: JsonValue, type: Type, types: TypeTable): JsonValue {
  const known = resolve(type, types)
  switch (known.kind) {
    case "record":
      return isJsonObject(value) ? filled(value, known, types) : value
    case "array":
      return Array.isArray(value) ? value.map((element) => withNulls(element, known.element, types)) : value
    case "union": {
      // `maybe` of a type: of several others it is not known which one is given.
      const [only, ...more] = known.members.filter(({ kind }) => kind !== "null")
      return only !== undefined && more.length === 0 ? withNulls(value, only, types) : value
    }
    default:
      return value
  }
}

function filled(value: JsonObject, { fields }: RecordType, types: TypeTable): JsonObject {
  const more: JsonObject = {}
  for (const { name, type } of fields) {
    if (Object.hasOwn(value, name)) more[name] = withNulls(value[name] ?? null, type, types)
    else if (nullable(type, types)) more[name] = null
  }
  return { ...value, ...more }
}
