import { caseRecord, resolve } from "./relations.ts"
import type { RecordType, Type, TypeTable, UnionType } from "./types.ts"
import { isObject, mayBe } from "./value-fits.ts"

export type BestMember =
  /** No member is an object or array like the value. */
  | { readonly kind: "none" }
  /** The one member that the value can be at all, or the likeliest of several. */
  | { readonly kind: "only" | "likeliest"; readonly member: Type }

/** Elements and fields that are looked at to tell how near a value is. */
const sample = 20

/**
 * The member of a union that the author of an object or array most likely had in mind, judged by its outside alone: names
 * of fields, literals, sorts of values. Looking inside would cost a walk for every member at every level.
 */
export function bestMember(value: unknown, type: UnionType, types: TypeTable): BestMember {
  if (typeof value !== "object" || value === null) return { kind: "none" }
  const candidates = type.members.map((member) => resolve(member, types)).filter((member) => mayBe(value, member))
  const [first, ...others] = candidates
  if (first === undefined) return { kind: "none" }
  if (others.length === 0) return { kind: "only", member: first }
  let best = first
  let bestNearness = nearness(value, first, types)
  for (const member of others) {
    const near = nearness(value, member, types)
    if (near > bestNearness) {
      best = member
      bestNearness = near
    }
  }
  return { kind: "likeliest", member: best }
}

function nearness(value: object, type: Type, types: TypeTable): number {
  if (Array.isArray(value)) {
    if (type.kind === "tuple") {
      const agreeing = type.elements.filter((element, at) => agrees(value[at], element, types)).length
      return 2 * agreeing - Math.max(value.length, type.elements.length)
    }
    if (type.kind !== "array") return 0
    const looked = value.slice(0, sample)
    const agreeing = looked.filter((element) => agrees(element, type.element, types)).length
    return 2 * agreeing - looked.length - (type.length === undefined || type.length === value.length ? 0 : 1)
  }
  if (!isObject(value)) return 0
  if (type.kind === "map") {
    const looked = Object.values(value).slice(0, sample)
    return 2 * looked.filter((one) => agrees(one, type.value, types)).length - looked.length
  }
  if (type.kind === "record") return nearnessToRecord(value, type, types)
  if (type.kind !== "variant") return 0
  const tag = Object.hasOwn(value, type.tag) ? value[type.tag] : undefined
  if (tag === undefined) return -Object.keys(value).length
  const record = typeof tag === "string" ? caseRecord(type, tag) : undefined
  return record === undefined ? 1 : nearnessToRecord(value, record, types)
}

function nearnessToRecord(value: Readonly<Record<string, unknown>>, type: RecordType, types: TypeTable): number {
  let shared = 0
  let points = 0
  for (const { name, type: fieldType } of type.fields) {
    if (!Object.hasOwn(value, name)) {
      points--
      continue
    }
    shared++
    const resolved = resolve(fieldType, types)
    // A literal is there to tell one member from another.
    const weight = resolved.kind === "literal" ? 10 : 1
    points += agrees(value[name], resolved, types) ? weight + 1 : 1 - weight
  }
  return points - (Object.keys(value).length - shared)
}

/** Whether the value is of the right kind (object, array, string …); its contents are not looked at. */
function agrees(value: unknown, type: Type, types: TypeTable): boolean {
  const resolved = resolve(type, types)
  if (resolved.kind === "union") return resolved.members.some((member) => agrees(value, member, types))
  if (typeof value === "object" && value !== null) return mayBe(value, resolved)
  switch (resolved.kind) {
    case "literal":
      return value === resolved.value
    case "enum":
      return typeof value === "string" && resolved.values.includes(value)
    case "null":
      return value === null
    case "integer":
      return typeof value === "number"
    case "any":
    case "error":
      return true
    default:
      return typeof value === resolved.kind
  }
}
