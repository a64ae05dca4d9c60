import type { JsonObject, JsonValue } from "../base/json-value.ts"
import { resolve, withoutNull } from "../types/relations.ts"
import type { RecordType, Type, TypeTable } from "../types/types.ts"

/** Secrets for a run that makes no calls: placeholders of the right types. */
export function placeholderSecrets(secrets: RecordType, types: TypeTable): JsonObject {
  return Object.fromEntries(secrets.fields.map(({ name, type }) => [name, placeholder(type, types, name)]))
}

function placeholder(given: Type, types: TypeTable, path: string): JsonValue {
  const type = resolve(withoutNull(given, types), types)
  switch (type.kind) {
    case "string":
    case "any":
      return `placeholder-for-the-secret-${path}`
    case "literal":
      return type.value
    case "enum":
      return type.values[0] ?? ""
    case "boolean":
      return false
    case "number":
    case "integer":
      return 0
    case "array":
      return Array.from({ length: type.length ?? 0 }, (_, index) =>
        placeholder(type.element, types, `${path}.${index}`),
      )
    case "map":
      return {}
    case "tuple":
      return type.elements.map((element, index) => placeholder(element, types, `${path}.${index}`))
    case "record":
      return Object.fromEntries(
        type.fields.map((field) => [field.name, placeholder(field.type, types, `${path}.${field.name}`)]),
      )
    case "union": {
      const [first] = type.members
      return first === undefined ? null : placeholder(first, types, path)
    }
    case "variant": {
      const [first] = type.cases
      if (first === undefined) return {}
      const fields = first.fields.map((field): [string, JsonValue] => [
        field.name,
        placeholder(field.type, types, `${path}.${field.name}`),
      ])
      return { [type.tag]: first.name, ...Object.fromEntries(fields) }
    }
    default:
      return null
  }
}
