import { remembered } from "../base/remembered.ts"
import { strongComponents } from "../base/strong-components.ts"
import type * as Syntax from "../syntax/tree.ts"
import type { CheckContext } from "./check-context.ts"

/** A field of a schema, at any depth, with its place in the workflow. */
export interface PlacedField {
  readonly field: Syntax.TypeField
  readonly path: string
}

/** All fields of some schemas, each after those that its type is made of, wherever in the file they stand. */
export function schemaFieldsInOrder(
  checking: CheckContext,
  schemas: readonly Syntax.SchemaDeclaration[],
): PlacedField[] {
  const paths = new Map<Syntax.TypeField, string>()
  /** Each after those inside of it. */
  const inside: PlacedField[] = []
  let namesFields = false
  const look = (type: TypePath): void => {
    if (type.segments.length > 2) namesFields = true
  }
  const note = (field: Syntax.TypeField, path: string): void => {
    paths.set(field, path)
    eachPart(field.type, path, note, look)
    inside.push({ field, path })
  }
  for (const declaration of schemas) {
    const path = `schema.${declaration.name.text}`
    for (const item of declaration.body.items) {
      if (item.kind === "type-field") note(item, `${path}.${item.name.text}`)
      else eachPart(item, path, note, look)
    }
  }
  // Few files name fields of schemas (`schema.a.b`): without that, no field needs one that it does not hold.
  if (!namesFields) return inside
  const order = strongComponents(paths.keys(), (field) => {
    const parts: Syntax.TypeField[] = []
    eachPart(
      field.type,
      "",
      (inner) => parts.push(inner),
      (type) => {
        const found = namedField(checking, type.segments)
        if (found.kind === "field" && paths.has(found.field)) parts.push(found.field)
      },
    )
    return parts
  })
  return order.flat().map((field) => ({ field, path: paths.get(field) ?? "" }))
}

type TypePath = Syntax.TypeNode & { kind: "type-path" }

/** Calls back with every path in a schema. */
export function eachPathIn({ body }: Syntax.SchemaDeclaration, visit: (path: TypePath) => void): void {
  const look = (field: Syntax.TypeField): void => eachPart(field.type, "", look, visit)
  for (const item of body.items) {
    if (item.kind === "type-field") look(item)
    else eachPart(item, "", look, visit)
  }
}

/** Visits the fields that a type is made of, without what is inside of those, and the paths that it names. */
function eachPart(
  type: Syntax.TypeNode,
  path: string,
  onField: (field: Syntax.TypeField, path: string) => void,
  onPath: (type: TypePath) => void,
): void {
  const fields = (block: Syntax.Block<Syntax.TypeField>, at: string): void => {
    for (const field of block.items) onField(field, `${at}.${field.name.text}`)
  }
  switch (type.kind) {
    case "type-path":
      return onPath(type)
    case "array-type":
      return eachPart(type.element, path, onField, onPath)
    case "maybe":
    case "map-type":
    case "marked":
    case "group-type":
      return eachPart(type.type, path, onField, onPath)
    case "tuple-type":
      for (const element of type.elements) eachPart(element, path, onField, onPath)
      return
    case "union-type":
      for (const member of type.members) eachPart(member, path, onField, onPath)
      return
    case "object-type":
      return fields(type.body, path)
    case "variant":
      for (const one of type.body.items) fields(one.body, `${path}.${one.name.text}`)
      return
    case "type-name":
    case "type-literal":
    case "enum":
    case "missing-type":
      return
  }
}

export type NamedField =
  | { readonly kind: "field"; readonly field: Syntax.TypeField }
  /** The segment at `index` names no field; `known` are the fields that are there. */
  | { readonly kind: "missing"; readonly index: number; readonly known: Iterable<string> }
  /** On the way lies something that is wrong by itself. */
  | { readonly kind: "broken" }
  | { readonly kind: "endless" }

type FieldBlock = Syntax.Block<Syntax.TypeField | Syntax.VariantType>

/** More fields than this on the way from `schema.a.b.c` to its type are taken for a circle. */
const longestWay = 10_000
/** The same once a workflow has had so many on its ways in all: thousands of circles would take their time. */
const maxFollowed = 100_000
const longestLateWay = 100

/** The field that `schema.name.field…` names, found in the text: types need not be known yet. */
export function namedField(checking: CheckContext, segments: readonly Syntax.Name[]): NamedField {
  const [root, name] = segments
  let block: FieldBlock | undefined = name && checking.schemas.get(name.text)?.body
  if (root?.text !== "schema" || segments.length < 3 || block === undefined) return { kind: "broken" }
  // Names still to be followed, the next one last; those that another path puts in between have no index.
  const waiting = segments.map((segment, index) => ({ text: segment.text, index: index as number | undefined }))
  waiting.splice(0, 2)
  waiting.reverse()
  const longest = checking.followedFields < maxFollowed ? longestWay : longestLateWay
  for (let steps = 0; steps < longest; steps++) {
    checking.followedFields++
    const next = waiting.pop()
    if (next === undefined) return { kind: "broken" }
    const field: Syntax.TypeField | undefined = block && fieldTable(block).get(next.text)
    if (field === undefined) {
      if (next.index === undefined || (block !== undefined && checking.skipped.hasNameless(block)))
        return { kind: "broken" }
      return { kind: "missing", index: next.index, known: block === undefined ? [] : fieldTable(block).keys() }
    }
    if (waiting.length === 0) return { kind: "field", field }
    let type: Syntax.TypeNode = field.type
    while (type.kind === "group-type" || type.kind === "marked") type = type.type
    if (type.kind === "missing-type") return { kind: "broken" }
    block = type.kind === "object-type" ? type.body : undefined
    if (type.kind !== "type-path") continue
    const [otherRoot, other, ...more] = type.segments
    block = otherRoot?.text === "schema" && other !== undefined ? checking.schemas.get(other.text)?.body : undefined
    if (block === undefined) return { kind: "broken" }
    for (const segment of more.reverse()) waiting.push({ text: segment.text, index: undefined })
  }
  return { kind: "endless" }
}

const tables = new WeakMap<FieldBlock, ReadonlyMap<string, Syntax.TypeField>>()

/** The fields of a block by name; of two with one name the first. */
function fieldTable(block: FieldBlock): ReadonlyMap<string, Syntax.TypeField> {
  return remembered(tables, block, ({ items }) => {
    const table = new Map<string, Syntax.TypeField>()
    for (const item of items) if (item.kind === "type-field") remembered(table, item.name.text, () => item)
    return table
  })
}
