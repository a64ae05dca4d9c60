import type { Program } from "../check/program.ts"
import { fieldNamed } from "../types/field-named.ts"
import { caseRecord, resolve } from "../types/relations.ts"
import { partsOf } from "../types/type-parts.ts"
import type { Field, RecordType, Type, UnionType, VariantType } from "../types/types.ts"
import type { Span } from "../source/span.ts"
import type * as Syntax from "../syntax/tree.ts"
import type { NameUse } from "./name-use.ts"
import { caseNamed, elementOf, nodeOfField, tagsRead, type Target } from "./targets.ts"

export interface Linked {
  readonly nodes: ReadonlySet<object>
  /** The texts between quotes that name one of the cases: the tags of objects, and what a tag is compared with. */
  readonly strings: readonly Span[]
}

/**
 * The nodes that must have the same name as the targets: fields that one name refers to (of the members of a union),
 * and those of types that have to fit each other (an argument and the tool's input, the two sides of `??`).
 */
export function linkedNodes(
  program: Program,
  targets: readonly Target[],
  uses: readonly { readonly use: NameUse; readonly targets: readonly Target[] }[],
): Linked {
  const nodes = new Set<object>(targets.map(({ node }) => node))
  if (!targets.some(({ kind }) => kind === "field" || kind === "case" || kind === "tag")) return { nodes, strings: [] }
  const links = new Links(program)
  for (const [from, to] of program.fittedTypes) links.fit(from, to)
  for (const node of program.expressionTypes.keys()) {
    if (node.kind === "binary") links.compare(node)
    else if (node.kind === "default") links.nameCases(node.left, node.right)
  }
  for (const { use, targets: named } of uses) {
    const [first, ...others] = use.kind === "pattern-field" ? named.filter(({ kind }) => kind !== "variable") : named
    if (first !== undefined) for (const other of others) links.add(first.node, other.node)
  }
  // Grows while it is walked.
  for (const node of nodes) for (const other of links.of(node)) nodes.add(other)
  return { nodes, strings: [...nodes].flatMap((node) => links.stringsOf(node)) }
}

/** Types further inside than this are not compared: such types are not written in practice. */
const deepest = 50

type FieldNode = NonNullable<ReturnType<typeof nodeOfField>>

class Links {
  readonly #program: Program
  readonly #links = new Map<object, Set<object>>()
  /** Where objects name a case, by where that is written. */
  readonly #strings = new Map<object, Set<Syntax.StringNode>>()
  readonly #membersByFields = new Map<UnionType, ReadonlyMap<string, readonly Type[]>>()
  readonly #compared = new Map<Type, Set<Type>>()

  constructor(program: Program) {
    this.#program = program
  }

  of(node: object): Iterable<object> {
    return this.#links.get(node) ?? []
  }

  stringsOf(node: object): Span[] {
    return [...(this.#strings.get(node) ?? [])].map(({ start, end }) => ({ start: start + 1, end: end - 1 }))
  }

  add(a: object, b: object): void {
    if (a === b) return
    this.#link(a, b)
    this.#link(b, a)
  }

  #link(from: object, to: object): void {
    const known = this.#links.get(from)
    if (known === undefined) this.#links.set(from, new Set([to]))
    else known.add(to)
  }

  /** Links the fields and cases of two types that are in the same place of each. */
  fit(a: Type, b: Type, depth = 0): void {
    const from = resolve(a, this.#program.types)
    const to = resolve(b, this.#program.types)
    if (from === to || depth > deepest || this.#isCompared(from, to)) return
    if (from.kind === "union") for (const member of from.members) this.fit(member, to, depth + 1)
    else if (to.kind === "union") for (const member of this.#candidates(from, to)) this.fit(from, member, depth + 1)
    else if (from.kind === "array" && to.kind === "array") this.fit(from.element, to.element, depth + 1)
    else if (to.kind === "map") for (const part of partsOf(from)) this.fit(part, to.value, depth + 1)
    else if (from.kind === "tuple" || to.kind === "tuple") this.#elements(from, to, depth)
    else if (from.kind === "record" && to.kind === "record") this.#records(from, to, depth)
    else if (from.kind === "variant" && to.kind === "variant") this.#variants(from, to, depth)
    else if (from.kind === "record" && to.kind === "variant") this.#recordInVariant(from, to, depth)
  }

  /** The members of a union that a type can fit: of records only those that have the same fields. */
  #candidates(from: Type, to: UnionType): readonly Type[] {
    if (from.kind !== "record") return to.members
    const byFields = this.#membersByFields.get(to) ?? this.#groupMembers(to)
    return [...(byFields.get(fieldNames(from)) ?? []), ...(byFields.get("") ?? [])]
  }

  #groupMembers(union: UnionType): ReadonlyMap<string, readonly Type[]> {
    const groups = new Map<string, Type[]>()
    for (const member of union.members) {
      const resolved = resolve(member, this.#program.types)
      const names = resolved.kind === "record" ? fieldNames(resolved) : ""
      const known = groups.get(names)
      if (known === undefined) groups.set(names, [member])
      else known.push(member)
    }
    this.#membersByFields.set(union, groups)
    return groups
  }

  #isCompared(from: Type, to: Type): boolean {
    const known = this.#compared.get(from)
    if (known?.has(to) === true) return true
    if (known === undefined) this.#compared.set(from, new Set([to]))
    else known.add(to)
    return false
  }

  #elements(from: Type, to: Type, depth: number): void {
    const ofFrom = from.kind === "tuple" ? from.elements : from.kind === "array" ? [from.element] : []
    const ofTo = to.kind === "tuple" ? to.elements : to.kind === "array" ? [to.element] : []
    const [oneFrom] = ofFrom
    const [oneTo] = ofTo
    if (from.kind === "array" && oneFrom !== undefined) for (const one of ofTo) this.fit(oneFrom, one, depth + 1)
    else if (to.kind === "array" && oneTo !== undefined) for (const one of ofFrom) this.fit(one, oneTo, depth + 1)
    else {
      for (const [index, one] of ofFrom.entries()) {
        const other = ofTo[index]
        if (other !== undefined) this.fit(one, other, depth + 1)
      }
    }
  }

  /** Records of different fields never fit: in a union they belong to different members. */
  #records(from: RecordType, to: RecordType, depth: number): void {
    if (from.fields.length !== to.fields.length) return
    const pairs: [Field, Field][] = []
    for (const field of from.fields) {
      const other = fieldNamed(to, field.name)
      if (other === undefined) return
      pairs.push([field, other])
    }
    for (const [field, other] of pairs) {
      const node = nodeOfField(this.#program, field)
      const otherNode = nodeOfField(this.#program, other)
      if (node !== undefined && otherNode !== undefined) this.add(node, otherNode)
      this.#nameCase(node, other, otherNode)
      this.#nameCase(otherNode, field, node)
      this.fit(field.type, other.type, depth + 1)
    }
  }

  #variants(from: VariantType, to: VariantType, depth: number): void {
    if (from.tag !== to.tag) return
    const node = this.#program.variantNodes.get(from)
    const otherNode = this.#program.variantNodes.get(to)
    if (node !== undefined && otherNode !== undefined) this.add(node, otherNode)
    for (const { name } of from.cases) {
      const record = caseRecord(from, name)
      const other = caseRecord(to, name)
      if (record === undefined || other === undefined) continue
      this.#records(record, other, depth)
      const one = node && caseNamed(node, name)
      const two = otherNode && caseNamed(otherNode, name)
      if (one !== undefined && two !== undefined) this.add(one, two)
    }
  }

  /** An object whose tag says which case it is. */
  #recordInVariant(from: RecordType, to: VariantType, depth: number): void {
    const tag = fieldNamed(from, to.tag)
    const record = tag?.type.kind === "literal" ? caseRecord(to, tag.type.value) : undefined
    if (record !== undefined) this.#records(from, record, depth)
  }

  /** The tag of an object that is written out names the case by a string. */
  #nameCase(written: FieldNode | undefined, tag: Field, tagNode: FieldNode | undefined): void {
    if (written?.kind !== "value-field" || tagNode?.kind !== "variant" || tag.type.kind !== "literal") return
    const node = caseNamed(tagNode, tag.type.value)
    if (node !== undefined) this.#addString(node, written.value)
  }

  /** `input.state.kind == "done"`, `input.state == { kind: "done", by: "me" }`, `input.states contains { … }` */
  compare({ left, right, operator }: Syntax.BinaryNode): void {
    this.nameCases(left, right)
    this.nameCases(right, left)
    const type = this.#program.expressionTypes.get(left)
    const other = this.#program.expressionTypes.get(right)
    const same = operator === "contains" ? elementOf(this.#program, type) : type
    if (same === undefined || other === undefined) return
    this.fit(same, other)
    this.fit(other, same)
  }

  /** The texts of one expression name cases of the variants whose tags the other reads: `input.state?.kind ?? "done"`. */
  nameCases(reads: Syntax.Expression, named: Syntax.Expression): void {
    for (const variant of tagsRead(this.#program, reads)) {
      for (const text of stringsIn(named)) {
        const node = caseNamed(variant, text.texts[0] ?? "")
        if (node !== undefined && text.interpolations.length === 0) this.#addString(node, text)
      }
    }
  }

  #addString(node: object, value: Syntax.Expression): void {
    if (value.kind !== "string" || value.block) return
    const known = this.#strings.get(node)
    if (known === undefined) this.#strings.set(node, new Set([value]))
    else known.add(value)
  }
}

/** The texts that an expression may be, or that are the elements of its array. */
function stringsIn(expression: Syntax.Expression): readonly Syntax.StringNode[] {
  switch (expression.kind) {
    case "string":
      return [expression]
    case "group":
      return stringsIn(expression.expression)
    case "default":
      return [...stringsIn(expression.left), ...stringsIn(expression.right)]
    case "array":
      return expression.items.flatMap(stringsIn)
    default:
      return []
  }
}

/** The names of a record's fields, in whatever order they are written. Never empty. */
function fieldNames({ fields }: RecordType): string {
  return JSON.stringify(fields.map(({ name }) => name).toSorted())
}
