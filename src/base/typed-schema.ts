import type { JsonObject, JsonValue } from "./json-value.ts"

// JSON Schemas that TypeScript knows the type of: `Shape<typeof usage>`. Symbols hold what neither validators nor documents may see.

declare const shape: unique symbol

/** The name of a schema among the components of the OpenAPI document. */
export const componentName: unique symbol = Symbol("component name")

/** What a caller reads whose value does not fit, in place of Ajv's words. */
export const refusal: unique symbol = Symbol("refusal")

/** A JSON Schema of the values of a type. */
export interface Schema<T> {
  [keyword: string]: JsonValue
  readonly [shape]?: T
  readonly [componentName]?: string
  readonly [refusal]?: string
}

/** The type of the values that fit a schema. */
export type Shape<S> = S extends { readonly [shape]?: infer T } ? T : never

/** A field that may be missing. */
export interface Optional<T> {
  readonly optional: Schema<T>
}

type Fields = Readonly<Record<string, Schema<unknown> | Optional<unknown>>>
type Flat<T> = { [Key in keyof T]: T[Key] }
type Values<F> = Flat<
  { readonly [Name in keyof F as F[Name] extends Optional<unknown> ? never : Name]: Shape<F[Name]> } & {
    readonly [Name in keyof F as F[Name] extends Optional<unknown> ? Name : never]?: F[Name] extends Optional<infer T>
      ? T
      : never
  }
>

export const string = <T extends string = string>(keywords: JsonObject = {}): Schema<T> => ({
  type: "string",
  ...keywords,
})
export const integer = (keywords: JsonObject = {}): Schema<number> => ({ type: "integer", ...keywords })
export const number = (keywords: JsonObject = {}): Schema<number> => ({ type: "number", ...keywords })
export const boolean = (keywords: JsonObject = {}): Schema<boolean> => ({ type: "boolean", ...keywords })
export const anything = (keywords: JsonObject = {}): Schema<JsonValue> => keywords
export const anyObject = (keywords: JsonObject = {}): Schema<JsonObject> => ({ type: "object", ...keywords })
export const time: Schema<string> = string({ format: "date-time" })

export const exactly = <const T extends string | boolean>(value: T, keywords: JsonObject = {}): Schema<T> => ({
  type: typeof value,
  const: value,
  ...keywords,
})

/** A value of one of several schemas. */
export const union = <const S extends readonly Schema<unknown>[]>(
  by: "anyOf" | "oneOf",
  schemas: S,
  keywords: JsonObject = {},
): Schema<Shape<S[number]>> => ({ [by]: [...schemas], ...keywords })

export const oneOf = <const T extends string>(values: readonly T[], keywords: JsonObject = {}): Schema<T> => ({
  type: "string",
  enum: [...values],
  ...keywords,
})

export const array = <T>(items: Schema<T>, keywords: JsonObject = {}): Schema<readonly T[]> => ({
  type: "array",
  items,
  ...keywords,
})

/** An object with any names, whose values are all alike. */
export const record = <T>(values: Schema<T>, keywords: JsonObject = {}): Schema<{ readonly [name: string]: T }> => ({
  type: "object",
  additionalProperties: values,
  ...keywords,
})

export function nullable<T>(schema: Schema<T>, keywords: JsonObject = {}): Schema<T | null> {
  const { type } = schema
  if (schema[componentName] !== undefined || typeof type !== "string" || "enum" in schema || "const" in schema) {
    return { anyOf: [schema, { type: "null" }], ...keywords }
  }
  return { ...schema, type: [type, "null"], ...keywords }
}

export const optional = <T>(schema: Schema<T>): Optional<T> => ({ optional: schema })

/** A field of a request that may be missing, or null: both are the same. */
export const maybe = <T>(schema: Schema<T>): Optional<T | null> => optional(nullable(schema))

/** An object of an answer: fields may be added to it. */
export function object<F extends Fields>(fields: F, keywords: JsonObject = {}): Schema<Values<F>> {
  const properties: Record<string, JsonValue> = {}
  const required: string[] = []
  for (const [name, field] of Object.entries(fields)) {
    properties[name] = isOptional(field) ? field.optional : field
    if (!isOptional(field)) required.push(name)
  }
  return { type: "object", properties, ...(required.length > 0 && { required }), ...keywords }
}

/** An object of a request: other fields are refused. */
export const closed = <F extends Fields>(fields: F, keywords: JsonObject = {}): Schema<Values<F>> =>
  object(fields, { additionalProperties: false, ...keywords })

function isOptional(field: Schema<unknown> | Optional<unknown>): field is Optional<unknown> {
  return "optional" in field
}

/** The schema of a request's body: every field that may be missing may also be null, at every level. `dropNulls` takes such nulls out. */
export function takingNulls<T>(schema: Schema<T>): Schema<T> {
  const { properties, items, anyOf } = schema
  const inside = (part: JsonValue): JsonValue => (isSchema(part) ? takingNulls(part) : part)
  const field = ([name, part]: [string, JsonValue]): [string, JsonValue] => {
    const inner = inside(part)
    return [name, isRequired(schema, name) || !isSchema(inner) || takesNull(inner) ? inner : nullable(inner)]
  }
  return {
    ...schema,
    ...(isSchema(properties) && { properties: Object.fromEntries(Object.entries(properties).map(field)) }),
    ...(items !== undefined && { items: inside(items) }),
    ...(Array.isArray(anyOf) && { anyOf: anyOf.map(inside) }),
  }
}

/** Takes the fields out of a body that may be missing and are null: null counts as absent. */
export function dropNulls(schema: Schema<unknown>, value: unknown): void {
  if (typeof value !== "object" || value === null) return
  const { properties, items, anyOf } = schema
  if (Array.isArray(value)) {
    if (isSchema(items)) for (const item of value) dropNulls(items, item)
    return
  }
  for (const one of Array.isArray(anyOf) ? anyOf : []) if (isSchema(one)) dropNulls(one, value)
  const fields = value as Record<string, unknown>
  for (const [name, field] of Object.entries(isSchema(properties) ? properties : {})) {
    if (!Object.hasOwn(fields, name)) continue
    if (fields[name] === null && !isRequired(schema, name)) delete fields[name]
    else if (isSchema(field)) dropNulls(field, fields[name])
  }
}

function isSchema(value: JsonValue | undefined): value is Schema<unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}

function isRequired({ required }: Schema<unknown>, name: string): boolean {
  return Array.isArray(required) && required.includes(name)
}

function takesNull({ type, anyOf }: Schema<unknown>): boolean {
  if (Array.isArray(anyOf)) return anyOf.some((one) => isSchema(one) && takesNull(one))
  return type === undefined || type === "null" || (Array.isArray(type) && type.includes("null"))
}

/** Where the OpenAPI document has a named schema. */
export function referenceTo({ [componentName]: name = "" }: Schema<unknown>): JsonObject {
  return { $ref: `#/components/schemas/${name}` }
}

/** The OpenAPI document has the schema once, under its name. */
export const named = <T>(name: string, schema: Schema<T>): Schema<T> => ({ ...schema, [componentName]: name })

export const withRefusal = <T>(sentence: string, schema: Schema<T>): Schema<T> => ({ ...schema, [refusal]: sentence })
