import type { PrimitiveType } from "./types.ts"

// One object for each primitive type: equal types are then compared by identity first.

export const anyType: PrimitiveType = { kind: "any" }
/** Element type of `[]`: it agrees with everything as `any` does, and no value has it. */
export const noElementType: PrimitiveType = { kind: "any" }
export const assetType: PrimitiveType = { kind: "asset" }
export const booleanType: PrimitiveType = { kind: "boolean" }
export const errorType: PrimitiveType = { kind: "error" }
export const fileType: PrimitiveType = { kind: "file" }
export const integerType: PrimitiveType = { kind: "integer" }
export const nullType: PrimitiveType = { kind: "null" }
export const numberType: PrimitiveType = { kind: "number" }
export const objectType: PrimitiveType = { kind: "object" }
export const stringType: PrimitiveType = { kind: "string" }
