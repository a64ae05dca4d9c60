import { remembered } from "../base/remembered.ts"
import type { Span } from "../source/span.ts"
import type * as Syntax from "../syntax/tree.ts"
import { either, joined, plain, type Labelled } from "./labelled.ts"
import { join, marked, none, type Label, type Marks } from "./marks.ts"

/** A marker in a type, and the path to it from the type's top. */
interface Marker {
  readonly label: Label
  readonly path: string
  readonly span: Span
}

/** As many as a value keeps sources. */
const mostMarkers = 8

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
      for (const item of body.items) eachSchema(item, (used) => remembered(users, used, () => new Set()).add(name))
    }
    const open = [...this.#schemas.keys()]
    for (let name = open.pop(); name !== undefined; name = open.pop()) {
      const schema = this.#schemas.get(name)
      const before = this.#within.get(name)?.length ?? 0
      const found = schema?.body.items.flatMap((item) => this.#markers(item, "")).slice(0, mostMarkers) ?? []
      if (found.length === before) continue
      this.#within.set(name, found)
      open.push(...(users.get(name) ?? []))
    }
  }

  #markers(node: Syntax.TypeNode | Syntax.TypeField, path: string): Marker[] {
    switch (node.kind) {
      case "type-field":
        return this.#markers(node.type, `${path}.${node.name.text}`)
      case "marked":
        return [{ label: node.mark, path, span: node }, ...this.#markers(node.type, path)]
      case "maybe":
      case "group-type":
        return this.#markers(node.type, path)
      case "array-type":
        return this.#markers(node.element, `${path}.*`)
      case "tuple-type":
        return node.elements.flatMap((one) => this.#markers(one, path))
      case "union-type":
        return node.members.flatMap((one) => this.#markers(one, path))
      case "object-type":
        return node.body.items.flatMap((one) => this.#markers(one, path))
      case "variant":
        return node.body.items.flatMap(({ body }) => body.items.flatMap((one) => this.#markers(one, path)))
      case "type-path": {
        const [, name, ...fields] = node.segments
        if (fields.length > 0) {
          const target = this.#target(node)
          return target === undefined ? [] : this.#markers(target, path)
        }
        return (this.#within.get(name?.text ?? "") ?? []).map((one) => ({ ...one, path: `${path}${one.path}` }))
      }
      default:
        return []
    }
  }

  /** The type that `schema.name.field` names. */
  #target({ segments }: Syntax.TypeNode & { kind: "type-path" }): Syntax.TypeNode | undefined {
    const [, name, ...fields] = segments
    let items: readonly (Syntax.TypeField | Syntax.VariantType)[] =
      this.#schemas.get(name?.text ?? "")?.body.items ?? []
    let type: Syntax.TypeNode | undefined
    for (const { text } of fields) {
      const field = items.find((item) => item.kind === "type-field" && item.name.text === text)
      if (field?.kind !== "type-field") return undefined
      type = bare(field.type)
      items = type.kind === "object-type" ? type.body.items : []
    }
    return type
  }

  #fields(items: readonly Syntax.TypeField[], at: At): Labelled {
    const markers = items.flatMap((item) => this.#markers(item, ""))
    if (markers.length === 0) return plain
    const types = new Map(items.map(({ name, type }) => [name.text, type]))
    // The fields of the input are read again and again.
    const known = new Map<string, Labelled>()
    return {
      own: none,
      whole: sourcesOf(markers, at),
      field: (name) => {
        const type = types.get(name)
        if (type === undefined) return plain
        return remembered(known, name, () => this.#type(type, { ...at, path: `${at.path}.${name}` }))
      },
      element: () => plain,
      caseOf: () => plain,
    }
  }

  #type(node: Syntax.TypeNode, at: At): Labelled {
    switch (node.kind) {
      case "marked": {
        const inner = this.#type(node.type, at)
        return joined(inner, sourcesOf([{ label: node.mark, path: "", span: node }], at))
      }
      case "maybe":
      case "group-type":
        return this.#type(node.type, at)
      case "object-type":
        return this.#fields(node.body.items, at)
      case "union-type":
        return either(node.members.map((one) => this.#type(one, at)))
      case "array-type": {
        const whole = sourcesOf(this.#markers(node, ""), at)
        if (whole === none) return plain
        let known: Labelled | undefined
        const element = (): Labelled => (known ??= this.#type(node.element, { ...at, path: `${at.path}.*` }))
        return { own: none, whole, element, field: () => plain, caseOf: () => plain }
      }
      case "tuple-type": {
        const items = node.elements.map((one) => this.#type(one, at))
        const element = (index?: number): Labelled => (index === undefined ? either(items) : (items.at(index) ?? plain))
        return {
          own: none,
          whole: join(...items.map(({ whole }) => whole)),
          element,
          field: () => plain,
          caseOf: () => plain,
        }
      }
      case "variant": {
        const cases = new Map(node.body.items.map((one) => [one.name.text, this.#fields(one.body.items, at)]))
        const all = [...cases.values()]
        return {
          own: none,
          whole: join(...all.map(({ whole }) => whole)),
          field: (name) => either(all.map((one) => one.field(name))),
          element: () => plain,
          caseOf: (name) => cases.get(name) ?? plain,
        }
      }
      case "type-path": {
        if (node.segments.length <= 2) return this.#schema(node.segments[1]?.text ?? "", at)
        const target = this.#target(node)
        return target === undefined ? plain : this.#type(target, at)
      }
      default:
        return plain
    }
  }

  #schema(name: string, at: At): Labelled {
    if ((this.#within.get(name) ?? []).length === 0) return plain
    const items = this.#schemas.get(name)?.body.items ?? []
    const [first] = items
    if (first?.kind === "variant") return this.#type(first, at)
    return this.#fields(
      items.filter((item) => item.kind === "type-field"),
      at,
    )
  }
}

/** Where a type stands. */
interface At {
  readonly path: string
  readonly server?: string
}

function sourcesOf(markers: readonly Marker[], { path, server }: At): Marks {
  return join(
    ...markers
      .slice(0, mostMarkers)
      .map((one) =>
        marked(one.label, { name: `${path}${one.path}`, span: one.span, ...(server !== undefined && { server }) }),
      ),
  )
}

function bare(type: Syntax.TypeNode): Syntax.TypeNode {
  return type.kind === "maybe" || type.kind === "group-type" ? bare(type.type) : type
}

/** Calls back with the name of each schema that a type refers to. */
function eachSchema(node: unknown, visit: (name: string) => void): void {
  if (typeof node !== "object" || node === null) return
  if ("kind" in node && node.kind === "type-path") {
    const name = (node as Syntax.TypeNode & { kind: "type-path" }).segments[1]
    if (name !== undefined) visit(name.text)
    return
  }
  for (const inner of Object.values(node)) eachSchema(inner, visit)
}
