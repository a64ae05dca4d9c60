import { childPath } from "../base/child-path.ts"
import type { JsonObject, JsonValue } from "../base/json-value.ts"
import { isUniform, toJsonSchema } from "./json-schema.ts"
import { resolve } from "./relations.ts"
import type { RecordType, Type, TypeTable, UnionType } from "./types.ts"

// Backends that enforce a schema while the model writes (`strict: true`) take a subset of JSON Schema. What is here is
// OpenAI's, as documented in 2026 (guide "Structured model outputs", section "Supported schemas"); others that know
// `strict` follow it. Every rule below keeps a request from being refused; whatever passes is still validated by us.
//
// The strict form says the same as the plain one, in three places with other words:
// - a `const` has its `type` beside it, since every subschema must have one (or an `anyOf`, or a `$ref`);
// - nothing may stand beside a `$ref`, so a described one is the only member of an `anyOf`;
// - a tuple of one type throughout is an array of that length, since `prefixItems` is not known.

const limits = {
  /** Objects and arrays inside each other. */
  levels: 10,
  properties: 5_000,
  enumValues: 1_000,
  /** An enum of more values than this … */
  largeEnum: 250,
  /** … has no more characters in all of them than this. */
  largeEnumText: 15_000,
  /** Characters of names of properties and definitions, and of values of enums and consts, all together. */
  text: 120_000,
}

export type StrictFit = { readonly fits: true } | { readonly fits: false; readonly reason: string }

/**
 * Whether the type can be put to a strict backend. It cannot
 * - when the root is not a record: a variant would be an `anyOf` at the top, which is refused;
 * - when a value inside is open (`object`, a map, a value of no known type) or is a tuple of different types;
 * - when two records of one union begin with the same field (unless literals tell them apart): the backend decides by
 *   the first key;
 * - when the schema is larger than the documented limits.
 *
 * The schema is then sent as it is, without `strict`.
 */
export function fitsStrict(type: Type, types: TypeTable): StrictFit {
  const root = resolve(type, types)
  if (root.kind !== "record") return refuse("the top level is not an object with fields")
  const reason = misfitIn(root, types) ?? excessIn(toStrictSchema(type, types))
  return reason === undefined ? { fits: true } : refuse(reason)
}

/** The schema in the words that strict backends know. Only for types that fit. */
export function toStrictSchema(type: Type, types: TypeTable): JsonObject {
  return toJsonSchema(type, types, "strict")
}

function refuse(reason: string): StrictFit {
  return { fits: false, reason }
}

/** What the subset has no words for, with its place in the type. */
function misfitIn(root: Type, types: TypeTable): string | undefined {
  const seen = new Map<Type, string>([[root, ""]])
  const add = (part: Type, path: string): void => {
    const resolved = resolve(part, types)
    if (!seen.has(resolved)) seen.set(resolved, path)
  }
  // Grows while it is walked: each type once, so that recursive ones come to an end.
  for (const [type, path] of seen) {
    switch (type.kind) {
      case "object":
        return `\`${path}\` is an object of any fields`
      case "map":
        return `\`${path}\` is a map, whose keys are not known`
      case "any":
      case "error":
      case "asset":
      case "file":
        return `\`${path}\` may be any value`
      case "tuple":
        if (!isUniform(type)) return `\`${path}\` is a tuple of different types`
        for (const element of type.elements) add(element, `${path}[]`)
        break
      case "array":
        add(type.element, `${path}[]`)
        break
      case "record":
        for (const field of type.fields) add(field.type, childPath(path, field.name))
        break
      case "variant":
        for (const one of type.cases) {
          for (const field of one.fields) add(field.type, childPath(`${path}#${one.name}`, field.name))
        }
        break
      case "union": {
        const key = sharedFirstKey(type, types)
        if (key !== undefined) return `objects of \`${path}\` begin with the same field \`${key}\``
        for (const member of type.members) add(member, path)
        break
      }
      default:
    }
  }
  return undefined
}

/** The first key that two objects of a union have in common without literals that tell them apart. */
function sharedFirstKey(type: UnionType, types: TypeTable): string | undefined {
  const taken = new Map<string, Set<string> | "any">()
  for (const member of type.members) {
    for (const { key, values } of firstKeys(resolve(member, types), types)) {
      const before = taken.get(key)
      if (before === undefined) taken.set(key, values === "any" ? values : new Set(values))
      else if (before === "any" || values === "any" || values.some((value) => before.has(value))) return key
      else for (const value of values) before.add(value)
    }
  }
  return undefined
}

interface FirstKey {
  readonly key: string
  /** The literals that the first field can be, where it is one. */
  readonly values: readonly string[] | "any"
}

function firstKeys(type: Type, types: TypeTable): readonly FirstKey[] {
  if (type.kind === "variant") return [{ key: type.tag, values: type.cases.map((one) => one.name) }]
  return type.kind === "record" ? firstKeyOf(type, types) : []
}

function firstKeyOf(type: RecordType, types: TypeTable): readonly FirstKey[] {
  const [first] = type.fields
  if (first === undefined) return []
  const value = resolve(first.type, types)
  return [{ key: first.name, values: value.kind === "literal" ? [value.value] : "any" }]
}

interface Totals {
  properties: number
  enumValues: number
  text: number
}

/** Which documented limit the schema goes over. */
function excessIn(schema: JsonObject): string | undefined {
  const totals: Totals = { properties: 0, enumValues: 0, text: 0 }
  const definitions = entriesOf(schema["$defs"])
  for (const [name] of definitions) totals.text += name.length
  for (const root of [schema, ...definitions.map(([, definition]) => definition)]) {
    const reason = excessAt(root, 1, totals)
    if (reason !== undefined) return reason
  }
  if (totals.properties > limits.properties) return `more than ${limits.properties} fields`
  if (totals.enumValues > limits.enumValues) return `more than ${limits.enumValues} enum values`
  return totals.text > limits.text ? `more than ${limits.text} characters in names and values` : undefined
}

function excessAt(schema: JsonValue | undefined, level: number, totals: Totals): string | undefined {
  if (schema === null || typeof schema !== "object" || Array.isArray(schema)) return undefined
  const { type, properties, items, anyOf, enum: values, const: value } = schema
  const nested = type === "object" || type === "array"
  if (nested && level > limits.levels) return `more than ${limits.levels} levels of nesting`
  if (typeof value === "string") totals.text += value.length
  if (Array.isArray(values)) {
    const text = values.reduce<number>((sum, one) => sum + (typeof one === "string" ? one.length : 0), 0)
    if (values.length > limits.largeEnum && text > limits.largeEnumText) {
      return `an enum of more than ${limits.largeEnum} values and ${limits.largeEnumText} characters`
    }
    totals.enumValues += values.length
    totals.text += text
  }
  const inner = nested ? level + 1 : level
  for (const [name, property] of entriesOf(properties)) {
    totals.properties++
    totals.text += name.length
    const reason = excessAt(property, inner, totals)
    if (reason !== undefined) return reason
  }
  for (const part of [items, ...(Array.isArray(anyOf) ? anyOf : [])]) {
    const reason = excessAt(part, inner, totals)
    if (reason !== undefined) return reason
  }
  return undefined
}

function entriesOf(value: JsonValue | undefined): [string, JsonValue][] {
  return value === undefined || value === null || typeof value !== "object" || Array.isArray(value)
    ? []
    : Object.entries(value)
}
