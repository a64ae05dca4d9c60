import type { Field, NamedType, RecordType, Type, TypeTable, VariantCase, VariantType } from "../../src/types/types.ts"

// Types as short as the language writes them, for tables of tests.

type Fields = Readonly<Record<string, Type>>

export const string: Type = { kind: "string" }
export const boolean: Type = { kind: "boolean" }
export const number: Type = { kind: "number" }
export const integer: Type = { kind: "integer" }
export const nothing: Type = { kind: "null" }
export const object: Type = { kind: "object" }
export const any: Type = { kind: "any" }
export const error: Type = { kind: "error" }
export const asset: Type = { kind: "asset" }

export const literal = (value: string): Type => ({ kind: "literal", value })
export const oneOf = (...values: string[]): Type => ({ kind: "enum", values })
export const array = (element: Type, length?: number): Type => {
  return length === undefined ? { kind: "array", element } : { kind: "array", element, length }
}
export const tuple = (...elements: Type[]): Type => ({ kind: "tuple", elements })
export const record = (fields: Fields): RecordType => ({ kind: "record", fields: toFields(fields) })
export const either = (...members: Type[]): Type => ({ kind: "union", members })
export const maybe = (type: Type): Type => either(type, nothing)
export const ref = (name: string): Type => ({ kind: "ref", name })
export const variant = (tag: string, cases: Readonly<Record<string, Fields>>): VariantType => ({
  kind: "variant",
  tag,
  cases: Object.entries(cases).map(([name, fields]): VariantCase => ({ name, fields: toFields(fields) })),
})

export const table = (types: Readonly<Record<string, Type>>): TypeTable => {
  return Object.fromEntries(Object.entries(types).map(([name, type]): [string, NamedType] => [name, { type }]))
}

function toFields(fields: Fields): Field[] {
  return Object.entries(fields).map(([name, type]) => ({ name, type }))
}
