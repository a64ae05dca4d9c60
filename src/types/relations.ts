import { remembered } from "../base/remembered.ts"
import { anyType, errorType, noElementType, nullType, stringType } from "./primitives.ts"
import { indexOfUnion } from "./union-index.ts"
import type { Field, EnumType, RecordType, Type, TypeTable, UnionType, VariantType } from "./types.ts"

/**
 * Further than this two types are not compared, but taken to agree: the values are validated anyway when the workflow
 * runs. No author writes such types by hand.
 */
const deepest = 400
const maxPairs = 200_000

/** The type that a reference stands for. A name that is not in the table was reported before: it gives `error`. */
export function resolve(type: Type, types: TypeTable): Exclude<Type, { kind: "ref" }> {
  let current = type
  for (let hops = 0; current.kind === "ref"; hops++) {
    const named: Type | undefined = Object.hasOwn(types, current.name) ? types[current.name]?.type : undefined
    // References to references come from a circle only: a schema is a record or a variant.
    if (named === undefined || hops > deepest) return errorType
    current = named
  }
  return current
}

/**
 * Whether every value of `from` is a value of `to`, by structure. `any` and `error` agree with everything, in both
 * directions.
 */
export function isAssignable(from: Type, to: Type, types: TypeTable): boolean {
  return new Comparison(types).fits(from, to, 0)
}

/** The same for an input, whose fields may be left out where they have a default or may be null. */
export function isInputFor(from: Type, to: Type, types: TypeTable): boolean {
  return new Comparison(types, "input").fits(from, to, 0)
}

/**
 * The same where nothing is taken on trust: what is not known fits nothing but what is not known either, so that a yes means that every
 * value fits. `leavesOut`: for an input, whose fields may be left out.
 */
export function isContained(from: Type, to: Type, types: TypeTable, leavesOut: boolean): boolean {
  return new Comparison(types, leavesOut ? "strict-input" : "strict").fits(from, to, 0)
}

/** Whether the two types have the same values: each fits the other. */
export function equivalent(a: Type, b: Type, types: TypeTable): boolean {
  return isAssignable(a, b, types) && isAssignable(b, a, types)
}

/** Whether the two are one type without looking behind names: `schema.a` is the same as `schema.a` alone. */
export function sameAsWritten(a: Type, b: Type): boolean {
  return new Comparison({}, "named").same(a, b)
}

/** Whether a value of the type may be null. A value of `any` may be null too, but that is not known: false. */
export function nullable(type: Type, types: TypeTable): boolean {
  const resolved = resolve(type, types)
  return resolved.kind === "union" ? resolved.members.some(({ kind }) => kind === "null") : resolved.kind === "null"
}

/** Whether a field of an input may be left out: it has a default, or may be null. */
export function mayBeLeftOut({ type, hasDefault }: Field, types: TypeTable): boolean {
  return hasDefault === true || nullable(type, types)
}

/** The type without null. `null` itself becomes `any`, because nothing is left of it. */
export function withoutNull(type: Type, types: TypeTable): Type {
  if (!nullable(type, types)) return type
  const resolved = resolve(type, types)
  if (resolved.kind !== "union") return anyType
  return union(resolved.members.filter(({ kind }) => kind !== "null"))
}

/** The type without null and references. */
export function plainType(type: Type, types: TypeTable): Exclude<Type, { kind: "ref" }> {
  return resolve(withoutNull(type, types), types)
}

/** A literal among others is just a string: `["a", "b"]` is an array of strings. */
export function withoutLiterals(type: Type): Type {
  if (type.kind === "literal") return stringType
  return type.kind === "union" ? union(type.members.map(withoutLiterals)) : type
}

/** `maybe T`. */
export function maybe(type: Type): Type {
  return union([type, nullType])
}

/**
 * The type of a value that is of one of the members: flat, each member once, no simple one that another covers (a literal
 * beside `string`, `integer` beside `number`, a record beside `object`). `error` wins over everything, `any` over the
 * rest. Without members it is `any`: nothing is known.
 */
export function union(members: readonly Type[]): Type {
  const [single] = members
  if (single !== undefined && members.length === 1 && single.kind !== "union") return single
  const all = members.flatMap((member) => (member.kind === "union" ? member.members : [member]))
  const flat = all.includes(noElementType) ? all.filter((member) => member !== noElementType) : all
  if (flat.length === 0 && all.length > 0) return noElementType
  const kinds = new Map(flat.map((member) => [member.kind, member]))
  const wins = kinds.get("error") ?? kinds.get("any")
  if (wins !== undefined) return wins
  const enumOf = new Map<string, Type>()
  for (const member of flat) {
    if (member.kind !== "enum") continue
    for (const value of member.values) if (!enumOf.has(value)) enumOf.set(value, member)
  }
  const kept = new Map<unknown, Type>()
  const shapes = new Shapes(kinds)
  for (const member of flat) {
    // The wider one stands where the first that it covers stood, so that the author's order stays.
    const wide = widest(member, kinds, enumOf)
    const key = keyOf(wide)
    if (!kept.has(key) && shapes.add(wide)) kept.set(key, wide)
  }
  const [only, ...others] = kept.values()
  if (only === undefined) return anyType
  return others.length === 0 ? only : { kind: "union", members: [only, ...others] }
}

/** The member that takes all values of this one, where there is a simple one. */
function widest(member: Type, kinds: ReadonlyMap<string, Type>, enumOf: ReadonlyMap<string, Type>): Type {
  switch (member.kind) {
    case "literal":
      return kinds.get("string") ?? enumOf.get(member.value) ?? member
    case "enum":
      return kinds.get("string") ?? member
    case "integer":
      return kinds.get("number") ?? member
    case "record":
    case "map":
    case "variant":
    case "ref":
      return kinds.get("object") ?? member
    default:
      return member
  }
}

/** What two simple types have in common exactly when they are the same. */
function keyOf(type: Type): unknown {
  switch (type.kind) {
    case "literal":
      return `"${type.value}`
    case "ref":
      return `schema.${type.name}`
    case "enum":
    case "record":
    case "map":
    case "variant":
    case "array":
    case "tuple":
    case "union":
      return type
    default:
      return type.kind
  }
}

/** Among hundreds of members of one shape, some equal ones may stay. */
const maxCompared = 200

/** The members that are kept, those together that could be the same. */
class Shapes {
  readonly #byShape = new Map<string, Type[]>()
  /** A record may be the same as a variant of one case. */
  readonly #hasVariants: boolean

  constructor(kinds: ReadonlyMap<string, Type>) {
    this.#hasVariants = kinds.has("variant")
  }

  /** False where a member that says the same is there already. */
  add(type: Type): boolean {
    const shape = this.#shapeOf(type)
    if (shape === null) return true
    const others = this.#byShape.get(shape)
    if (others === undefined) {
      this.#byShape.set(shape, [type])
      return true
    }
    if (others.length > maxCompared) return true
    const says = (other: Type): boolean =>
      type.kind === "enum" ? isAssignable(type, other, {}) : sameAsWritten(type, other)
    if (others.some(says)) return false
    others.push(type)
    return true
  }

  #shapeOf(type: Type): string | null {
    switch (type.kind) {
      case "enum":
      case "map":
      case "union":
        return type.kind
      case "array":
      case "tuple":
        return "array"
      case "variant":
        return "record"
      case "record":
        return this.#hasVariants ? "record" : JSON.stringify(type.fields.map(({ name }) => name).toSorted())
      default:
        return null
    }
  }
}

const tagsOfVariants = new WeakMap<VariantType, EnumType>()

/** What the tag of a variant may be: the names of its cases. */
export function tagType(variant: VariantType): EnumType {
  return remembered(tagsOfVariants, variant, ({ cases }) => ({ kind: "enum", values: cases.map(({ name }) => name) }))
}

/** The object that a variant's value is when it is of this case: the tag, then the case's fields. */
export function caseRecord(variant: VariantType, name: string): RecordType | undefined {
  return recordsOf(variant).get(name)
}

const recordsOfVariants = new WeakMap<VariantType, ReadonlyMap<string, RecordType>>()

/** The objects of all cases, by their names. */
export function recordsOf(variant: VariantType): ReadonlyMap<string, RecordType> {
  return remembered(recordsOfVariants, variant, makeRecords)
}

function makeRecords({ tag, cases }: VariantType): ReadonlyMap<string, RecordType> {
  return new Map(
    cases.map(({ name, fields }) => {
      const tagField: Field = { name: tag, type: { kind: "literal", value: name } }
      return [name, { kind: "record", fields: [tagField, ...fields] }]
    }),
  )
}

type Mode = "structure" | "named" | "input" | "strict" | "strict-input"

/**
 * One question about two types. Recursive types make it ask the same thing again inside its own answer; then the answer
 * is assumed to be yes (types are equal as their infinite unfoldings). An assumption is only good as long as the question
 * that made it has not failed, so a failed one takes back all that were made inside it. A no stays a no.
 */
class Comparison {
  readonly #types: TypeTable
  /** `structure` looks through references and is lenient about `any`; `named` takes both as they are written. */
  readonly #by: Mode
  readonly #assumed = new Map<Type, Set<Type>>()
  readonly #trail: [Type, Type][] = []
  readonly #refused = new Map<Type, Set<Type>>()
  #pairs = 0

  constructor(types: TypeTable, by: Mode = "structure") {
    this.#types = types
    this.#by = by
  }

  get #isStrict(): boolean {
    return this.#by === "strict" || this.#by === "strict-input"
  }

  same(a: Type, b: Type): boolean {
    return this.fits(a, b, 0) && this.fits(b, a, 0)
  }

  fits(from: Type, to: Type, depth: number): boolean {
    if (from === to || depth > deepest) return true
    if (this.#by === "named") {
      if (from.kind === "ref" || to.kind === "ref") {
        return from.kind === "ref" && (to.kind === "ref" ? from.name === to.name : to.kind === "object")
      }
      return this.#fitsResolved(from, to, depth)
    }
    const source = resolve(from, this.#types)
    const target = resolve(to, this.#types)
    if (source === target || isLenient(target)) return true
    if (isLenient(source)) {
      return !this.#isStrict || (target.kind === "union" && target.members.some(isLenient))
    }
    return this.#fitsResolved(source, target, depth)
  }

  #fitsResolved(from: Type, to: Type, depth: number): boolean {
    if (isLeaf(from) && isLeaf(to)) return this.#fitsLeaf(from, to)
    if (this.#refused.get(from)?.has(to)) return false
    if (this.#assumed.get(from)?.has(to) || ++this.#pairs > maxPairs) return true
    const mark = this.#trail.length
    this.#assume(from, to)
    if (this.#fitsByKind(from, to, depth + 1)) return true
    while (this.#trail.length > mark) {
      const [source, target] = this.#trail.pop() ?? []
      if (source !== undefined && target !== undefined) this.#assumed.get(source)?.delete(target)
    }
    add(this.#refused, from, to)
    return false
  }

  #assume(from: Type, to: Type): void {
    add(this.#assumed, from, to)
    this.#trail.push([from, to])
  }

  #fitsLeaf(from: Type, to: Type): boolean {
    if (from.kind === "literal") {
      if (to.kind === "literal") return from.value === to.value
      return to.kind === "enum" ? to.values.includes(from.value) : to.kind === "string"
    }
    if (from.kind === "enum") {
      if (to.kind === "literal") return from.values.every((value) => value === to.value)
      return to.kind === "enum" ? isSubset(from.values, to.values) : to.kind === "string"
    }
    return from.kind === to.kind || (from.kind === "integer" && to.kind === "number")
  }

  #fitsByKind(from: Type, to: Type, depth: number): boolean {
    if (from.kind === "union") return from.members.every((member) => this.fits(member, to, depth))
    if (to.kind === "union") return this.#fitsUnion(from, to, depth)
    switch (from.kind) {
      case "array":
        if (to.kind === "array") {
          if (to.length !== undefined && to.length !== from.length) return false
          return from.length === 0 || this.fits(from.element, to.element, depth)
        }
        return (
          to.kind === "tuple" &&
          from.length === to.elements.length &&
          to.elements.every((element) => this.fits(from.element, element, depth))
        )
      case "tuple":
        if (to.kind === "array") {
          const { length, element } = to
          if (length !== undefined && length !== from.elements.length) return false
          return from.elements.every((one) => this.fits(one, element, depth))
        }
        return (
          to.kind === "tuple" &&
          from.elements.length === to.elements.length &&
          from.elements.every((one, at) => this.fits(one, to.elements[at] ?? errorType, depth))
        )
      case "variant":
        // A variant is the union of its cases, each an object with the tag among its fields.
        return to.kind === "object" || [...recordsOf(from).values()].every((record) => this.fits(record, to, depth))
      case "record":
        if (to.kind === "object") return true
        if (to.kind === "map") return from.fields.every((field) => this.fits(field.type, to.value, depth))
        if (to.kind === "record") return this.#fitsRecord(from, to, depth)
        return to.kind === "variant" && this.#fitsVariant(from, to, depth)
      case "map":
        return to.kind === "object" || (to.kind === "map" && this.fits(from.value, to.value, depth))
      default:
        return false
    }
  }

  /** One member takes all of it; or, of a type with several known values or cases, each is taken by some member. */
  #fitsUnion(from: Type, to: UnionType, depth: number): boolean {
    const { kinds, strings, others } = indexOfUnion(to)
    // `union` never makes one that holds `any`, but other code may.
    if (this.#by !== "named" && (kinds.has("any") || kinds.has("error"))) return true
    switch (from.kind) {
      case "literal":
        return kinds.has("string") || strings.has(from.value)
      case "enum":
        return kinds.has("string") || from.values.every((value) => strings.has(value))
      case "integer":
        return kinds.has("integer") || kinds.has("number")
      case "record":
      case "map":
      case "variant":
        if (kinds.has("object")) return true
        break
      case "array":
      case "tuple":
      case "union":
      case "ref":
        break
      default:
        return kinds.has(from.kind)
    }
    if (others.some((member) => this.fits(from, member, depth))) return true
    return from.kind === "variant" && [...recordsOf(from).values()].every((record) => this.fits(record, to, depth))
  }

  /** Both closed: the same fields, in any order. */
  #fitsRecord(from: RecordType, to: RecordType, depth: number): boolean {
    if (from.fields.length !== to.fields.length && !this.#leavesOut(from, to)) return false
    return from.fields.every((field, at) => {
      const inPlace = to.fields[at]
      const other = inPlace?.name === field.name ? inPlace : to.fields.find(({ name }) => name === field.name)
      return other !== undefined && this.fits(field.type, other.type, depth)
    })
  }

  /** Whether only fields are missing that an input may be left without. */
  #leavesOut(from: RecordType, to: RecordType): boolean {
    if ((this.#by !== "input" && this.#by !== "strict-input") || from.fields.length > to.fields.length) return false
    const given = new Set(from.fields.map(({ name }) => name))
    return to.fields.every((field) => given.has(field.name) || mayBeLeftOut(field, this.#types))
  }

  /** The tag's type must tell which case it is (or which few), and the record fit each of them. */
  #fitsVariant(from: RecordType, to: VariantType, depth: number): boolean {
    const tag = from.fields.find(({ name }) => name === to.tag)
    if (tag === undefined) return false
    const type = this.#by === "named" ? tag.type : resolve(tag.type, this.#types)
    const names = knownValues(type)
    if (names === undefined) return false
    return names.every((name) => {
      const record = caseRecord(to, name)
      if (record === undefined) return false
      const narrowed = from.fields.map((field) => {
        return field === tag ? { name: field.name, type: { kind: "literal", value: name } as const } : field
      })
      return this.#fitsRecord({ kind: "record", fields: narrowed }, record, depth)
    })
  }
}

/** The values of a type that has finitely many, all strings. */
function knownValues(type: Type): readonly string[] | undefined {
  if (type.kind === "literal") return [type.value]
  if (type.kind === "enum") return type.values
  if (type.kind !== "union") return undefined
  const values = type.members.map(knownValues)
  return values.every((some) => some !== undefined) ? values.flat() : undefined
}

function isLeaf(type: Type): boolean {
  switch (type.kind) {
    case "record":
    case "map":
    case "variant":
    case "array":
    case "tuple":
    case "union":
      return false
    default:
      return true
  }
}

function isSubset(values: readonly string[], of: readonly string[]): boolean {
  const set = new Set(of)
  return values.every((value) => set.has(value))
}

/** Nothing is known of the type, so that everything fits it. */
export function isLenient({ kind }: Type): boolean {
  return kind === "any" || kind === "error"
}

function add(pairs: Map<Type, Set<Type>>, from: Type, to: Type): void {
  remembered(pairs, from, () => new Set()).add(to)
}
