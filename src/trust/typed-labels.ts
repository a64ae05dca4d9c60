import { remembered } from "../base/remembered.ts"
import type { Span } from "../source/span.ts"
import type * as Syntax from "../syntax/tree.ts"
import { either, flat, lazy, list, plain, record, tuple, variant, type Labelled } from "./label-tree.ts"
import { join, marked, maxSources, none, type Marks } from "./marks.ts"

type Mark = Syntax.MarkedType["mark"]

/** A marker in a type, and the path to it from the type's top. */
interface Marker {
  readonly label: Mark
  readonly path: string
  readonly span: Span
}

/** Where a type stands. */
interface At {
  readonly path: string
  readonly server?: string
}

/** What the markers in types (`untrusted T`, `private T`) say of the values that have these types. */
export class TypedLabels {
  readonly #schemas: ReadonlyMap<string, Syntax.SchemaDeclaration>
  /** The markers in each schema, those of the schemas in it included. */
  readonly #within = new Map<string, readonly Marker[]>()

  constructor(schemas: ReadonlyMap<string, Syntax.SchemaDeclaration>) {
    this.#schemas = schemas
    this.#spread()
  }

  /** The labels of an object that enters under a name: `input`, `tool.search`. */
  ofFields(name: string, fields: readonly Syntax.TypeField[], server?: string): Labelled {
    return this.#fields(fields, { path: name, ...(server !== undefined && { server }) })
  }

  /** Markers of a schema reach those that refer to it, until none has a new one. */
  #spread(): void {
    const users = new Map<string, Set<string>>()
    for (const [name, { body }] of this.#schemas) {
      const look = (node: Syntax.TypeNode | Syntax.TypeField): void => {
        const { type, schema } = node.kind === "type-path" ? this.#target(node) : { type: undefined, schema: undefined }
        if (schema !== undefined) remembered(users, schema, () => new Set()).add(name)
        for (const part of type === undefined ? partsOf(node) : [type]) look(part)
      }
      body.items.forEach(look)
    }
    const open = new Set(this.#schemas.keys())
    // A set goes on with what is added to it meanwhile.
    for (const name of open) {
      open.delete(name)
      const before = this.#within.get(name) ?? []
      const items = this.#schemas.get(name)?.body.items ?? []
      // Known markers come first, so that a new label always adds one.
      const found = few([...before, ...items.flatMap((item) => this.#markers(item, ""))])
      if (found.length === before.length) continue
      this.#within.set(name, found)
      for (const user of users.get(name) ?? []) open.add(user)
    }
  }

  #markers(node: Syntax.TypeNode | Syntax.TypeField, path: string): Marker[] {
    switch (node.kind) {
      case "type-field":
        return this.#markers(node.type, `${path}.${node.name.text}`)
      case "marked":
        return [{ label: node.mark, path, span: node }, ...this.#markers(node.type, path)]
      case "type-name":
        return isFile(node) ? [{ label: "untrusted", path, span: node }] : []
      case "array-type":
        return this.#markers(node.element, `${path}.*`)
      case "map-type":
        return this.#markers(node.type, `${path}.*`)
      case "type-path": {
        const { marks, type, schema } = this.#target(node)
        const own = marks.map((one) => ({ label: one.mark, path, span: one }))
        if (type !== undefined) return [...own, ...this.#markers(type, path)]
        return [...own, ...(this.#within.get(schema) ?? []).map((one) => ({ ...one, path: `${path}${one.path}` }))]
      }
      default:
        return partsOf(node).flatMap((one) => this.#markers(one, path))
    }
  }

  /** What `schema.name.field` names: a schema, or the type of a field; and the markers on the way to it. */
  #target({ segments }: Syntax.TypeNode & { kind: "type-path" }): Target {
    const marks: Syntax.MarkedType[] = []
    let names = segments.slice(1).map(({ text }) => text)
    // A path that leads to itself is reported before.
    for (let steps = 0; steps < 10_000; steps++) {
      const [schema = "", ...fields] = names
      let items: readonly (Syntax.TypeField | Syntax.VariantType)[] = this.#schemas.get(schema)?.body.items ?? []
      let type: Syntax.TypeNode | undefined
      let next: readonly string[] | undefined
      for (const [index, name] of fields.entries()) {
        const field = items.find((item) => item.kind === "type-field" && item.name.text === name)
        type = field?.kind === "type-field" ? field.type : undefined
        const isLast = index === fields.length - 1
        for (; type?.kind === "group-type" || (!isLast && type?.kind === "marked"); type = type.type) {
          if (type.kind === "marked") marks.push(type)
        }
        if (!isLast && type?.kind === "type-path") {
          next = [...type.segments.slice(1).map(({ text }) => text), ...fields.slice(index + 1)]
          break
        }
        items = type?.kind === "object-type" ? type.body.items : []
      }
      if (next === undefined) return { marks, type, schema }
      names = [...next]
    }
    return { marks, type: undefined, schema: "" }
  }

  #fields(items: readonly Syntax.TypeField[], at: At): Labelled {
    return record(
      new Map(items.map(({ name, type }) => [name.text, this.#type(type, { ...at, path: `${at.path}.${name.text}` })])),
    )
  }

  #type(node: Syntax.TypeNode, at: At): Labelled {
    switch (node.kind) {
      case "marked":
        return this.#type(node.type, at).with(sourcesOf([{ label: node.mark, path: "", span: node }], at))
      // Strangers write files: its name and its type as well as its contents.
      case "type-name":
        return isFile(node) ? flat(sourcesOf([{ label: "untrusted", path: "", span: node }], at)) : plain
      case "array-type":
        return list(none, this.#type(node.element, { ...at, path: `${at.path}.*` }), none)
      case "map-type":
        return list(none, this.#type(node.type, { ...at, path: `${at.path}.*` }), none)
      case "tuple-type":
        return tuple(node.elements.map((one) => this.#type(one, at)))
      case "object-type":
        return this.#fields(node.body.items, at)
      case "variant":
        return variant(new Map(node.body.items.map((one) => [one.name.text, this.#fields(one.body.items, at)])))
      case "type-path": {
        const { marks, type, schema } = this.#target(node)
        // Schemas may refer to each other without an end.
        const within = this.#within.get(schema) ?? []
        const inner =
          type === undefined ? lazy(none, sourcesOf(within, at), () => this.#schema(schema, at)) : this.#type(type, at)
        return inner.with(
          sourcesOf(
            marks.map((one) => ({ label: one.mark, path: "", span: one })),
            at,
          ),
        )
      }
      default:
        return either(partsOf(node).flatMap((one) => (one.kind === "type-field" ? [] : [this.#type(one, at)])))
    }
  }

  #schema(name: string, at: At): Labelled {
    const items = this.#schemas.get(name)?.body.items ?? []
    const [first] = items
    if (first?.kind === "variant") return this.#type(first, at)
    return this.#fields(
      items.filter((item) => item.kind === "type-field"),
      at,
    )
  }
}

function isFile({ name }: Syntax.TypeNode & { kind: "type-name" }): boolean {
  return name.text === "file"
}

interface Target {
  readonly marks: readonly Syntax.MarkedType[]
  readonly type: Syntax.TypeNode | undefined
  readonly schema: string
}

/** Each marker once, and not too many of them; every label is kept. */
function few(markers: readonly Marker[]): readonly Marker[] {
  const kept = new Map<number, Marker>()
  const seen = new Set<Mark>()
  for (const one of markers) {
    if (kept.has(one.span.start) || (kept.size >= maxSources && seen.has(one.label))) continue
    kept.set(one.span.start, one)
    seen.add(one.label)
  }
  return [...kept.values()]
}

function sourcesOf(markers: readonly Marker[], { path, server }: At): Marks {
  return join(
    ...markers.map((one) =>
      marked(one.label, { name: `${path}${one.path}`, span: one.span, ...(server !== undefined && { server }) }),
    ),
  )
}

/** All types that one is written with. */
function partsOf(node: unknown): (Syntax.TypeNode | Syntax.TypeField)[] {
  if (typeof node !== "object" || node === null) return []
  return Object.values(node).flatMap((inner: unknown) => {
    if (typeof inner !== "object" || inner === null) return []
    const isType = "kind" in inner && typeof inner.kind === "string" && Object.hasOwn(typeKinds, inner.kind)
    return isType ? [inner as Syntax.TypeNode | Syntax.TypeField] : partsOf(inner)
  })
}

const typeKinds: Record<(Syntax.TypeNode | Syntax.TypeField)["kind"], true> = {
  "type-field": true,
  "type-name": true,
  "type-path": true,
  "type-literal": true,
  enum: true,
  "array-type": true,
  "tuple-type": true,
  "group-type": true,
  "object-type": true,
  maybe: true,
  "map-type": true,
  marked: true,
  "union-type": true,
  variant: true,
  "missing-type": true,
}
