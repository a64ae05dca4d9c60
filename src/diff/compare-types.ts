import { jsonEqual } from "../base/json-equal.ts"
import { remembered } from "../base/remembered.ts"
import { isContained, mayBeLeftOut, nullable, resolve, withoutNull } from "../types/relations.ts"
import { stringType } from "../types/primitives.ts"
import { showName, showType } from "../types/show-type.ts"
import type { Field, RecordType, Type, TypeTable, VariantType } from "../types/types.ts"
import type { ContractChange } from "./diff-shape.ts"

/** A type of a workflow, and the schemas that it may refer to. */
export interface TypeOf {
  readonly type: Type
  readonly types: TypeTable
}

/** Of an input callers write the values, and of an output they read them. */
export type Side = "input" | "output"

/** How a type differs from an earlier one, part by part. Without a breaking change, every value of one fits the other. */
export function compareTypes(path: string, side: Side, before: TypeOf, after: TypeOf): ContractChange[] {
  const types = { ...renamed(before.types), ...after.types }
  const comparison = new TypeComparison(side, types)
  comparison.compare(path, oldType(before.type), after.type)
  return comparison.changes
}

/** No schema has a name with a blank, so that those of both sides fit into one table. */
const oldName = (name: string): string => `old ${name}`

function renamed(types: TypeTable): TypeTable {
  return Object.fromEntries(
    Object.entries(types).map(([name, named]) => [oldName(name), { ...named, type: oldType(named.type) }]),
  )
}

const olds = new WeakMap<Type, Type>()

/** The type with references to the schemas of the old side. */
function oldType(type: Type): Type {
  return remembered(olds, type, (): Type => {
    switch (type.kind) {
      case "ref":
        return { kind: "ref", name: oldName(type.name) }
      case "array":
        return { ...type, element: oldType(type.element) }
      case "map":
        return { kind: "map", value: oldType(type.value) }
      case "tuple":
        return { kind: "tuple", elements: type.elements.map(oldType) }
      case "union":
        return { kind: "union", members: type.members.map(oldType) }
      case "record":
        return { kind: "record", fields: type.fields.map(oldField) }
      case "variant":
        return { ...type, cases: type.cases.map((one) => ({ ...one, fields: one.fields.map(oldField) })) }
      default:
        return type
    }
  })
}

function oldField(field: Field): Field {
  return { ...field, type: oldType(field.type) }
}

class TypeComparison {
  readonly changes: ContractChange[] = []
  readonly #side: Side
  readonly #types: TypeTable
  /** Schemas may refer to themselves: each pair is compared once, where it is met first. */
  readonly #compared = new Map<Type, Set<Type>>()

  constructor(side: Side, types: TypeTable) {
    this.#side = side
    this.#types = types
  }

  compare(path: string, before: Type, after: Type): void {
    const types = this.#types
    if (this.#isNullAlone(before) || this.#isNullAlone(after)) return this.#compareWhole(path, before, after)
    const [couldBeNull, mayBeNull] = [nullable(before, types), nullable(after, types)]
    if (couldBeNull !== mayBeNull) this.#add(path, mayBeNull ? "may be null now" : "may no longer be null", mayBeNull)
    const old = resolve(withoutNull(before, types), types)
    const now = resolve(withoutNull(after, types), types)
    if (old === now) return
    const known = remembered(this.#compared, old, () => new Set())
    if (known.has(now)) return
    known.add(now)
    this.#compareParts(path, old, now)
  }

  #isNullAlone(type: Type): boolean {
    const resolved = resolve(type, this.#types)
    return (
      resolved.kind === "null" || (resolved.kind === "union" && resolved.members.every((one) => this.#isNullAlone(one)))
    )
  }

  #compareParts(path: string, old: Type, now: Type): void {
    // A constant of the output is a text like any other, unless it is one of those that there were.
    if (this.#side === "output") {
      if (old.kind === "literal") return this.#compareConstant(path, now)
      if (now.kind === "literal" && valuesOf(old)?.has(now.value) !== true)
        return this.#compareParts(path, old, stringType)
    }
    const [hadValues, hasValues] = [valuesOf(old), valuesOf(now)]
    if (hadValues !== null && hasValues !== null) return this.#compareValues(path, hadValues, hasValues)
    if (old.kind === "record" && now.kind === "record") return this.#compareRecords(path, old, now)
    if (old.kind === "variant" && now.kind === "variant" && old.tag === now.tag) {
      return this.#compareVariants(path, old, now)
    }
    if (old.kind === "array" && now.kind === "array" && old.length === now.length) {
      return this.compare(`${path}[]`, old.element, now.element)
    }
    if (old.kind === "map" && now.kind === "map") return this.compare(`${path}.*`, old.value, now.value)
    if (old.kind === "tuple" && now.kind === "tuple" && old.elements.length === now.elements.length) {
      for (const [at, element] of old.elements.entries()) {
        const other = now.elements[at]
        if (other !== undefined) this.compare(`${path}[${at}]`, element, other)
      }
      return
    }
    this.#compareWhole(path, old, now)
  }

  #compareConstant(path: string, now: Type): void {
    if (now.kind !== "literal") this.#compareParts(path, stringType, now)
  }

  #compareWhole(path: string, old: Type, now: Type): void {
    const leavesOut = this.#side === "input"
    const isWider = isContained(old, now, this.#types, leavesOut)
    const isNarrower = isContained(now, old, this.#types, leavesOut)
    if (isWider && isNarrower) return
    const change = `changed from ${shown(old)} to ${shown(now)}`
    if (!isWider && !isNarrower) this.changes.push({ path, change, breaking: true })
    else this.#add(path, change, isWider)
  }

  /** A change that takes more values than before, or fewer. */
  #add(path: string, change: string, widens: boolean): void {
    this.changes.push({ path, change, breaking: widens === (this.#side === "output") })
  }

  #compareValues(path: string, old: ReadonlySet<string>, now: ReadonlySet<string>): void {
    const gained = [...now].filter((value) => !old.has(value))
    const lost = [...old].filter((value) => !now.has(value))
    if (gained.length > 0) this.#add(path, `gained ${named("value", gained)}`, true)
    if (lost.length > 0) this.#add(path, `lost ${named("value", lost)}`, false)
  }

  #compareRecords(path: string, old: RecordType, now: RecordType): void {
    const types = this.#types
    const known = new Map(old.fields.map((field) => [field.name, field]))
    const isInput = this.#side === "input"
    for (const field of now.fields) {
      const at = `${path}.${showName(field.name)}`
      const before = known.get(field.name)
      known.delete(field.name)
      const mayMiss = isInput && mayBeLeftOut(field, types)
      if (before === undefined) {
        const isNeeded = isInput && !mayMiss
        const change = isNeeded ? "is new and required" : "is new"
        this.changes.push({ path: at, change, breaking: isNeeded })
        continue
      }
      if (isInput) this.#compareLeavingOut(at, before, field)
      this.compare(at, before.type, field.type)
    }
    // Callers send no field that is unknown; where they read, more fields than they know do no harm.
    for (const name of known.keys()) {
      this.changes.push({ path: `${path}.${showName(name)}`, change: "was removed", breaking: true })
    }
  }

  /** Of a field that may be null, whether it may be null says it already. */
  #compareLeavingOut(path: string, before: Field, after: Field): void {
    const [could, may] = [before, after].map((field) => mayBeLeftOut(field, this.#types))
    const becameNullable = nullable(before.type, this.#types) !== nullable(after.type, this.#types)
    const bothDefault = before.hasDefault === true && after.hasDefault === true
    if (could === true && may === false && !becameNullable) this.#add(path, "is required now", false)
    else if (could === false && may === true && !becameNullable) this.#add(path, "may be left out now", true)
    else if (bothDefault && !jsonEqual(before.default ?? null, after.default ?? null)) {
      this.changes.push({ path, change: "has another default", breaking: false })
    }
  }

  #compareVariants(path: string, old: VariantType, now: VariantType): void {
    const known = new Map(old.cases.map((one) => [one.name, one]))
    const gained: string[] = []
    for (const one of now.cases) {
      const before = known.get(one.name)
      known.delete(one.name)
      if (before === undefined) gained.push(one.name)
      else {
        const records = [before, one].map(({ fields }) => ({ kind: "record", fields }) as const)
        const [was, is] = records
        if (was !== undefined && is !== undefined) this.#compareRecords(`${path}#${showName(one.name)}`, was, is)
      }
    }
    if (gained.length > 0) this.#add(path, `gained ${named("case", gained)}`, true)
    if (known.size > 0) this.#add(path, `lost ${named("case", [...known.keys()])}`, false)
  }
}

/** The values of a type that has finitely many, all strings. */
function valuesOf(type: Type): ReadonlySet<string> | null {
  if (type.kind === "literal") return new Set([type.value])
  if (type.kind === "enum") return new Set(type.values)
  if (type.kind !== "union") return null
  const values = type.members.map(valuesOf)
  return values.includes(null) ? null : new Set(values.flatMap((some) => [...(some ?? [])]))
}

function named(word: string, names: readonly string[]): string {
  return `the ${word}${names.length === 1 ? "" : "s"} ${names.map((name) => `\`${name}\``).join(", ")}`
}

function shown(type: Type): string {
  return `\`${showType(type).replaceAll("schema.old ", "schema.")}\``
}
