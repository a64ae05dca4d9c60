import { isJsonObject } from "../../base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import type { ContractForm } from "../model-turn/output-format.ts"

// The subset of JSON Schema that `output_config.format` takes: every object has all of its fields, nothing is recursive, and arrays have no length
// but "not empty". What the subset has no words for is said in the description, because the answer is validated anyway.

const schemas = new WeakMap<ContractForm, JsonObject | null>()

/** The schema of a contract in that subset; null where it has open objects, values of any type, or itself inside. Made once for a contract. */
export function anthropicSchema(form: ContractForm): JsonObject | null {
  const known = schemas.get(form)
  if (known !== undefined) return known
  const made = convert(JSON.parse(form.schema) as JsonObject)
  schemas.set(form, made)
  return made
}

function convert(schema: JsonObject): JsonObject | null {
  const { type, properties, items, prefixItems, minItems, anyOf } = schema
  if (Array.isArray(anyOf)) return withParts(schema, "anyOf", convertAll(anyOf))
  if (type === "array") {
    const { prefixItems: _tuple, minItems: _least, maxItems: _most, ...rest } = schema
    const converted = Array.isArray(prefixItems) ? tupleItems(prefixItems) : isJsonObject(items) ? convert(items) : null
    if (typeof minItems !== "number") return withParts(rest, "items", converted)
    const length = `Exactly ${minItems} items${Array.isArray(prefixItems) ? `, in this order: ${JSON.stringify(prefixItems)}` : ""}.`
    const { description } = schema
    const described = typeof description === "string" ? `${description} ${length}` : length
    return withParts({ ...rest, description: described, ...(minItems > 0 && { minItems: 1 }) }, "items", converted)
  }
  if (type === "object") {
    if (!isJsonObject(properties)) return null
    const fields = Object.entries(properties).map(([name, field]) => [
      name,
      isJsonObject(field) ? convert(field) : null,
    ])
    return fields.some(([, field]) => field === null)
      ? null
      : { ...schema, properties: Object.fromEntries(fields) as JsonObject }
  }
  return typeof type === "string" || "const" in schema || "enum" in schema ? schema : null
}

/** An array whose items are of any of these types. */
function tupleItems(elements: readonly JsonValue[]): JsonObject | null {
  const converted = convertAll(elements)
  return converted === null || converted.length === 0 ? null : { anyOf: converted }
}

function convertAll(schemas: readonly JsonValue[]): JsonObject[] | null {
  const converted = schemas.map((one) => (isJsonObject(one) ? convert(one) : null))
  return converted.every((one) => one !== null) ? converted : null
}

function withParts(schema: JsonObject, name: string, parts: JsonValue): JsonObject | null {
  return parts === null ? null : { ...schema, [name]: parts }
}
