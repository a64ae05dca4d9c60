import type { JsonObject } from "../../src/base/json-value.ts"
import { caseRecord, resolve } from "../../src/types/relations.ts"
import { validateValue } from "../../src/types/validate-value.ts"
import type { RecordType, Type, TypeTable } from "../../src/types/types.ts"

/** A value in the making: JSON in which numbers that have not been typed yet are missing. */
export type Draft = null | boolean | number | string | undefined | readonly Draft[] | { readonly [key: string]: Draft }
export type DraftObject = { readonly [key: string]: Draft }

/** Types may be recursive: a form opens to this depth at first. */
const deepest = 6

/** How many more values may be made: twenty fields of twenty fields each, and so on, are 64,000,000 at the sixth level. */
interface Room {
  left: number
  /** What a person has to choose or write is left open. */
  readonly isUnanswered?: true
}

/** Values of a draft that a form shows; a larger one is edited as JSON. */
const most = 2_000

const newRoom = (): Room => ({ left: most })

/** What a form shows for a value that is not there yet. */
export function blankValue(type: Type, types: TypeTable, depth = 0, room = newRoom()): Draft {
  const known = resolve(type, types)
  if (depth > deepest || room.left-- <= 0) return undefined
  if (room.isUnanswered === true && ["boolean", "enum", "variant"].includes(known.kind)) return undefined
  switch (known.kind) {
    case "string":
      return ""
    case "boolean":
      return false
    case "null":
      return null
    case "object":
    case "map":
      return {}
    case "literal":
      return known.value
    case "enum":
      return known.values[0]
    case "array":
      return Array.from({ length: Math.min(known.length ?? 0, 100) }, () =>
        blankValue(known.element, types, depth + 1, room),
      )
    case "tuple":
      return known.elements.map((element) => blankValue(element, types, depth + 1, room))
    case "record":
      return blankRecord(known, types, depth, room)
    case "union": {
      const first = known.members[0]
      if (known.members.some(({ kind }) => kind === "null") || first === undefined) return null
      return blankValue(first, types, depth + 1, room)
    }
    case "variant": {
      const [first] = known.cases
      if (first === undefined) return undefined
      return { [known.tag]: first.name, ...blankRecord({ kind: "record", fields: first.fields }, types, depth, room) }
    }
    default:
      return undefined
  }
}

/** The same for an answer: no choice is made before a person makes it. */
export function unansweredValue(type: Type, types: TypeTable): Draft {
  return blankValue(type, types, 0, { left: most, isUnanswered: true })
}

function blankRecord(type: RecordType, types: TypeTable, depth: number, room: Room): DraftObject {
  return Object.fromEntries(
    type.fields.flatMap((field) => {
      // Only the service can compute the default: it is left out.
      if (field.hasDefault === true && field.default === undefined) return []
      return [[field.name, field.default ?? blankValue(field.type, types, depth + 1, room)]]
    }),
  )
}

/**
 * The draft in the shape of the type: declared fields in their order, others left out, what is missing or of quite another
 * shape blank. A value of the wrong kind that a field can show is kept, so that it can be reported and fixed.
 */
export function shapeDraft(draft: Draft, type: Type, types: TypeTable, depth = 0, room = newRoom()): Draft {
  const known = resolve(type, types)
  if (draft === undefined || depth > 100) return blankValue(known, types, depth, room)
  const blank = (): Draft => blankValue(known, types, 0, room)
  switch (known.kind) {
    case "record":
      return isDraftObject(draft) ? shapeRecord(draft, known) : blank()
    case "variant": {
      if (!isDraftObject(draft)) return blank()
      const tag = draft[known.tag]
      const record = typeof tag === "string" ? caseRecord(known, tag) : undefined
      return record === undefined ? blank() : shapeRecord(draft, record)
    }
    case "array":
      if (!isDraftArray(draft)) return blank()
      if (known.length !== undefined && draft.length !== known.length) return sized(draft, known.length, known.element)
      return draft.map((item) => inner(item, known.element))
    case "tuple":
      return isDraftArray(draft) ? known.elements.map((element, at) => inner(draft[at], element)) : blank()
    case "union": {
      const member = memberOf(draft, known.members, types)
      return member === undefined ? draft : inner(draft, member)
    }
    case "object":
    case "map":
      return isDraftObject(draft) ? draft : {}
    case "boolean":
      return typeof draft === "boolean" ? draft : false
    case "literal":
      return known.value
    case "null":
      return null
    case "file":
      return draft
    default:
      return typeof draft === "object" ? blank() : draft
  }

  function inner(part: Draft, partType: Type): Draft {
    return shapeDraft(part, partType, types, depth + 1, room)
  }

  function sized(items: readonly Draft[], length: number, element: Type): Draft {
    return Array.from({ length: Math.min(length, 1000) }, (_, at) => inner(items[at], element))
  }

  function shapeRecord(object: DraftObject, { fields }: RecordType): DraftObject {
    return Object.fromEntries(
      fields.flatMap(({ name, type: fieldType, hasDefault, default: usual }) => {
        const isGiven = Object.hasOwn(object, name) && object[name] !== undefined
        if (!isGiven && hasDefault === true && usual === undefined) return []
        return [[name, inner(isGiven ? object[name] : usual, fieldType)]]
      }),
    )
  }
}

/** Whether a draft has more values than a form can show. */
export function isTooLargeForForm(draft: Draft): boolean {
  const open: Draft[] = [draft]
  let count = 0
  for (; open.length > 0; count++) {
    if (count > most) return true
    const next = open.pop()
    if (typeof next !== "object" || next === null) continue
    const inner: readonly Draft[] = isDraftArray(next) ? next : Object.values(next)
    if (inner.length > most) return true
    for (const part of inner) open.push(part)
  }
  return false
}

/** Which member of a union the value belongs to: the first that it fits, else the first of its shape. */
export function memberOf(draft: Draft, members: readonly Type[], types: TypeTable): Type | undefined {
  const fitting = members.find((member) => validateValue(draft, member, types, "", { most: 1 }).length === 0)
  return fitting ?? members.find((member) => shapeOf(resolve(member, types).kind) === shapeOfDraft(draft))
}

function shapeOf(kind: string): string {
  if (kind === "record" || kind === "variant" || kind === "map" || kind === "object") return "object"
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
