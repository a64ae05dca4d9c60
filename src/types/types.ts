import type { JsonValue } from "../base/json-value.ts"

/**
 * The types of the language as values. A named schema is a `ref`, looked up in a `TypeTable`, so that recursive schemas
 * are finite. `maybe T` is the union of T and null; `float` is `number`.
 */
export type Type =
  | PrimitiveType
  | LiteralType
  | EnumType
  | ArrayType
  | TupleType
  | RecordType
  | MapType
  | UnionType
  | VariantType
  | RefType

export type PrimitiveKind =
  | "string"
  | "boolean"
  | "null"
  | "number"
  | "integer"
  /** Any JSON object. */
  | "object"
  /** A value that is known at run time only (an untyped tool's result). */
  | "any"
  /** An image, document or video part of an instruction. */
  | "asset"
  /** A stored file, as its facts: `src/types/file-value.ts`. */
  | "file"
  /** The type of something that a diagnostic has already reported: it fits everything, so that no second diagnostic follows. */
  | "error"

export interface PrimitiveType {
  readonly kind: PrimitiveKind
}

export interface LiteralType {
  readonly kind: "literal"
  readonly value: string
}

export interface EnumType {
  readonly kind: "enum"
  readonly values: readonly string[]
}

export interface ArrayType {
  readonly kind: "array"
  readonly element: Type
  /** Exactly this many elements, where given. */
  readonly length?: number
}

export interface TupleType {
  readonly kind: "tuple"
  readonly elements: readonly Type[]
}

/** A closed object: every field required, none other allowed. */
export interface RecordType {
  readonly kind: "record"
  readonly fields: readonly Field[]
}

export interface Field {
  readonly name: string
  readonly type: Type
  /** Text of the doc comment, lines joined by LF. */
  readonly doc?: string
  /** The field of an input has a default, so that it may be left out. */
  readonly hasDefault?: true
  /** The value that counts where it is left out. Absent where only the service can compute it. */
  readonly default?: JsonValue
}

/** An object with any keys, whose values are of one type. */
export interface MapType {
  readonly kind: "map"
  readonly value: Type
}

export interface UnionType {
  readonly kind: "union"
  /** At least two, flat (no union in a union). */
  readonly members: readonly Type[]
}

/** An object whose `tag` field names the case; the tag is not among the case's fields. */
export interface VariantType {
  readonly kind: "variant"
  readonly tag: string
  readonly cases: readonly VariantCase[]
}

export interface VariantCase {
  readonly name: string
  readonly fields: readonly Field[]
  readonly doc?: string
}

/** The schema declared under this name. */
export interface RefType {
  readonly kind: "ref"
  readonly name: string
}

/** The declared schemas. Plain JSON, so that a plan can carry it. */
export interface TypeTable {
  readonly [schema: string]: NamedType
}

export interface NamedType {
  readonly type: Type
  readonly doc?: string
}
