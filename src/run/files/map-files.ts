import { childPath } from "../../base/child-path.ts"
import { isJsonObject } from "../../base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import { setOwn } from "../../base/ordered-object.ts"
import { givenFile, type GivenFile } from "../../types/file-value.ts"
import { holdsFile } from "../../types/holds-file.ts"
import { caseRecord, resolve } from "../../types/relations.ts"
import type { Field, Type, TypeTable } from "../../types/types.ts"
import { Fitting } from "../../types/value-fits.ts"

/** What a file in a value becomes. */
export type ToFile = (given: GivenFile, path: string) => Promise<JsonValue>

/** The value with its files replaced, one after the other; the same value where none is. It fits its type. */
export async function mapFiles(
  value: JsonValue,
  type: Type,
  types: TypeTable,
  path: string,
  to: ToFile,
): Promise<JsonValue> {
  if (value === null || !holdsFile(type, types)) return value
  const known = resolve(type, types)
  switch (known.kind) {
    case "file": {
      const given = givenFile(value)
      return given === null ? value : to(given, path)
    }
    case "record":
      return isJsonObject(value) ? mapFields(value, known.fields, types, path, to) : value
    case "variant": {
      const tag = isJsonObject(value) ? value[known.tag] : undefined
      const record = typeof tag === "string" ? caseRecord(known, tag) : undefined
      return record !== undefined && isJsonObject(value) ? mapFields(value, record.fields, types, path, to) : value
    }
    case "map": {
      if (!isJsonObject(value)) return value
      const fields = Object.keys(value).map((name): Field => ({ name, type: known.value }))
      return mapFields(value, fields, types, path, to)
    }
    case "array":
    case "tuple": {
      if (!Array.isArray(value)) return value
      const made: JsonValue[] = []
      for (const [at, one] of value.entries()) {
        const element = known.kind === "array" ? known.element : known.elements[at]
        made.push(element === undefined ? one : await mapFiles(one, element, types, childPath(path, at), to))
      }
      return made.every((one, at) => one === value[at]) ? value : made
    }
    case "union": {
      const members = known.members.map((member) => resolve(member, types))
      const given = members.some(({ kind }) => kind === "file") ? givenFile(value) : null
      if (given !== null) return to(given, path)
      const member = members.find((one) => new Fitting(types).fits(value, one, 0))
      return member === undefined ? value : mapFiles(value, member, types, path, to)
    }
    default:
      return value
  }
}

async function mapFields(
  value: JsonObject,
  fields: readonly Field[],
  types: TypeTable,
  path: string,
  to: ToFile,
): Promise<JsonObject> {
  let made = value
  for (const { name, type } of fields) {
    if (!Object.hasOwn(value, name)) continue
    const given = value[name] ?? null
    const one = await mapFiles(given, type, types, childPath(path, name), to)
    if (one === given) continue
    if (made === value) made = { ...value }
    setOwn(made, name, one)
  }
  return made
}
