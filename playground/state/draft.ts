import type { JsonObject } from "../../src/base/json-value.ts"
import { caseRecord, resolve } from "../../src/types/relations.ts"
import { validateValue } from "../../src/types/validate-value.ts"
import type { RecordType, Type, TypeTable } from "../../src/types/types.ts"

/** A value in the making: JSON in which numbers that have not been typed yet are missing. */
export type Draft = null | boolean | number | string | undefined | readonly Draft[] | { readonly [key: string]: Draft }
export type DraftObject = { readonly [key: string]: Draft }

/** Types may be recursive: a form opens to this depth at first. */
const deepest = 6

/** What a form shows for a value that is not there yet. */
export function blankValue(type: Type, types: TypeTable, depth = 0): Draft {
  const known = resolve(type, types)
  if (depth > deepest) return undefined
  switch (known.kind) {
    case "string":
      return ""
    case "boolean":
      return false
    case "null":
      return null
    case "object":
      return {}
    case "literal":
      return known.value
    case "enum":
      return known.values[0]
    case "array":
      return Array.from({ length: Math.min(known.length ?? 0, 100) }, () => blankValue(known.element, types, depth + 1))
    case "tuple":
      return known.elements.map((element) => blankValue(element, types, depth + 1))
    case "record":
      return blankRecord(known, types, depth)
    case "union": {
      const first = known.members[0]
      if (known.members.some(({ kind }) => kind === "null") || first === undefined) return null
      return blankValue(first, types, depth + 1)
    }
    case "variant": {
      const [first] = known.cases
      if (first === undefined) return undefined
      return { [known.tag]: first.name, ...blankRecord({ kind: "record", fields: first.fields }, types, depth) }
    }
    default:
      return undefined
  }
}

function blankRecord(type: RecordType, types: TypeTable, depth: number): DraftObject {
  return Object.fromEntries(type.fields.map((field) => [field.name, blankValue(field.type, types, depth + 1)]))
}

/**
 * The draft in the shape of the type: declared fields in their order, others left out, what is missing or of quite another
 * shape blank. A value of the wrong kind that a field can show is kept, so that it can be reported and fixed.
 */
export function shapeDraft(draft: Draft, type: Type, types: TypeTable, depth = 0): Draft {
  const known = resolve(type, types)
  if (draft === undefined || depth > 100) return blankValue(known, types, depth)
  switch (known.kind) {
    case "record":
      return isDraftObject(draft) ? shapeRecord(draft, known, types, depth) : blankValue(known, types)
    case "variant": {
      if (!isDraftObject(draft)) return blankValue(known, types)
      const tag = draft[known.tag]
      const record = typeof tag === "string" ? caseRecord(known, tag) : undefined
      return record === undefined ? blankValue(known, types) : shapeRecord(draft, record, types, depth)
    }
    case "array":
      if (!isDraftArray(draft)) return blankValue(known, types)
      if (known.length !== undefined && draft.length !== known.length) return sized(draft, known.length, known.element)
      return draft.map((item) => shapeDraft(item, known.element, types, depth + 1))
    case "tuple":
      return isDraftArray(draft)
        ? known.elements.map((element, at) => shapeDraft(draft[at], element, types, depth + 1))
        : blankValue(known, types)
    case "union": {
      const member = memberOf(draft, known.members, types)
      return member === undefined ? draft : shapeDraft(draft, member, types, depth + 1)
    }
    case "object":
      return isDraftObject(draft) ? draft : {}
    case "boolean":
      return typeof draft === "boolean" ? draft : false
    case "literal":
      return known.value
    case "null":
      return null
    default:
      return typeof draft === "object" ? blankValue(known, types) : draft
  }

  function sized(items: readonly Draft[], length: number, element: Type): Draft {
    return Array.from({ length: Math.min(length, 1000) }, (_, at) => shapeDraft(items[at], element, types, depth + 1))
  }
}

function shapeRecord(draft: DraftObject, type: RecordType, types: TypeTable, depth: number): DraftObject {
  return Object.fromEntries(
    type.fields.map(({ name, type: fieldType }) => [
      name,
      shapeDraft(Object.hasOwn(draft, name) ? draft[name] : undefined, fieldType, types, depth + 1),
    ]),
  )
}

/** Which member of a union the value belongs to: the first that it fits, else the first of its shape. */
export function memberOf(draft: Draft, members: readonly Type[], types: TypeTable): Type | undefined {
  const fitting = members.find((member) => validateValue(draft, member, types, "", { most: 1 }).length === 0)
  return fitting ?? members.find((member) => shapeOf(resolve(member, types).kind) === shapeOfDraft(draft))
}

function shapeOf(kind: string): string {
  if (kind === "record" || kind === "variant" || kind === "object") return "object"
  if (kind === "array" || kind === "tuple") return "array"
  if (kind === "integer") return "number"
  if (kind === "enum" || kind === "literal") return "string"
  return kind
}

function shapeOfDraft(draft: Draft): string {
  if (draft === undefined) return "number"
  if (draft === null) return "null"
  return Array.isArray(draft) ? "array" : typeof draft
}

export function isDraftObject(draft: Draft): draft is DraftObject {
  return typeof draft === "object" && draft !== null && !Array.isArray(draft)
}

export function isDraftArray(draft: Draft): draft is readonly Draft[] {
  return Array.isArray(draft)
}

/** The draft as JSON, once it is known to fit. */
export function toJson(draft: DraftObject): JsonObject {
  return JSON.parse(JSON.stringify(draft)) as JsonObject
}
