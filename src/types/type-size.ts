import { remembered } from "../base/remembered.ts"
import { anyType } from "./primitives.ts"
import { partsOf } from "./type-parts.ts"
import type { Type } from "./types.ts"
import { sourceTypeLevels, sourceTypeParts } from "../base/limits.ts"

/** A type as it would be written out: what stands in two places counts twice. A named schema counts as its name. */
export interface TypeSize {
  readonly parts: number
  readonly depth: number
}

// Types are shared (`dynamic.a` in two places is one object), so that each is measured once; written out, a few dozen
// lines could make more parts than any memory holds.
const measured = new WeakMap<Type, TypeSize>()

export function typeSize(type: Type): TypeSize {
  return remembered(measured, type, measure)
}

function measure(type: Type): TypeSize {
  let parts = 1
  let depth = 0
  for (const part of partsOf(type)) {
    const size = typeSize(part)
    parts += size.parts
    depth = Math.max(depth, size.depth)
  }
  return { parts, depth: depth + 1 }
}

/** The type of a value that is built from others; one that is too large to be written out is left to the run. */
export function bounded(type: Type): Type {
  const { parts, depth } = typeSize(type)
  return parts > sourceTypeParts || depth > sourceTypeLevels ? anyType : type
}
