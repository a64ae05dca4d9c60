import { objectOf } from "../base/ordered-object.ts"
import { isJsonObject } from "../base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../base/json-value.ts"
import { nullable, resolve } from "./relations.ts"
import type { Field, Type, TypeTable } from "./types.ts"

const nothing: Type = { kind: "any" }

/** The value with what counts for fields of records that are left out, at every level: the default, or null where the field may be null. */
export function withNulls(value: JsonValue, type: Type, types: TypeTable): JsonValue {
  const known = resolve(type, types)
  switch (known.kind) {
    case "record":
      return isJsonObject(value) ? filled(value, known.fields, types) : value
    case "map": {
      if (!isJsonObject(value)) return value
      const made = Object.entries(value).map(([key, one]) => [key, withNulls(one, known.value, types)] as const)
      return made.every(([key, one]) => one === value[key]) ? value : objectOf(made)
    }
    case "array":
      return Array.isArray(value) ? mapped(value, (element) => withNulls(element, known.element, types)) : value
    case "tuple":
      return Array.isArray(value)
        ? mapped(value, (element, index) => withNulls(element, known.elements[index] ?? nothing, types))
        : value
    case "variant": {
      const tag = isJsonObject(value) ? value[known.tag] : undefined
      const found = known.cases.find(({ name }) => name === tag)
      return found !== undefined && isJsonObject(value) ? filled(value, found.fields, types) : value
    }
    case "union": {
      // Where several types take a value of this form, nobody knows which one is given.
      const [only, ...more] = known.members.filter((member) => takesForm(value, resolve(member, types)))
      return only !== undefined && more.length === 0 ? withNulls(value, only, types) : value
    }
    default:
      return value
  }
}

/** The same array where no element changes. */
function mapped(values: JsonValue[], to: (value: JsonValue, index: number) => JsonValue): JsonValue[] {
  let isSame = true
  const made = values.map((value, index) => {
    const one = to(value, index)
    isSame &&= one === value
    return one
  })
  return isSame ? values : made
}

function filled(value: JsonObject, fields: readonly Field[], types: TypeTable): JsonObject {
  const more: JsonObject = {}
  let isSame = true
  for (const { name, type, default: usual } of fields) {
    if (Object.hasOwn(value, name)) {
      const given = value[name] ?? null
      more[name] = withNulls(given, type, types)
      isSame &&= more[name] === given
    } else if (usual !== undefined) {
      more[name] = withNulls(usual, type, types)
      isSame = false
    } else if (nullable(type, types)) {
      more[name] = null
      isSame = false
    }
  }
  return isSame ? value : { ...value, ...more }
}

/** Whether a type takes arrays, or objects, if the value is one. */
function takesForm(value: JsonValue, { kind }: Type): boolean {
  if (kind === "any") return true
  if (Array.isArray(value)) return kind === "array" || kind === "tuple"
  return isJsonObject(value) && ["record", "map", "variant", "object"].includes(kind)
}
