import type { Field, NamedType, RecordType, Type, TypeTable, VariantType } from "../types/types.ts"

/**
 * The types of another file as this one has them: its schemas come along under the names that they would have if they were imported,
 * `lib/common.wire#finding`.
 */
export class ForeignTypes {
  readonly #file: string
  readonly #from: TypeTable
  readonly #to: Record<string, NamedType>
  // Types are shared: each is copied once.
  readonly #copies = new Map<Type, Type>()
  readonly #fieldOf: (copy: Field, own: Field) => void
  readonly #variantOf: (copy: VariantType, own: VariantType) => void

  /** `fieldOf` and `variantOf` are called with each field and variant that is copied. */
  constructor(
    file: string,
    from: TypeTable,
    to: Record<string, NamedType>,
    fieldOf: (copy: Field, own: Field) => void,
    variantOf: (copy: VariantType, own: VariantType) => void = () => undefined,
  ) {
    this.#file = file
    this.#from = from
    this.#to = to
    this.#fieldOf = fieldOf
    this.#variantOf = variantOf
  }

  record({ fields }: RecordType): RecordType {
    return { kind: "record", fields: this.#fields(fields) }
  }

  #of(type: Type): Type {
    const known = this.#copies.get(type)
    if (known !== undefined) return known
    const copy = this.#copy(type)
    this.#copies.set(type, copy)
    return copy
  }

  #copy(type: Type): Type {
    switch (type.kind) {
      case "ref":
        return { kind: "ref", name: this.#name(type.name) }
      case "array":
        return { ...type, element: this.#of(type.element) }
      case "map":
        return { kind: "map", value: this.#of(type.value) }
      case "tuple":
        return { kind: "tuple", elements: type.elements.map((one) => this.#of(one)) }
      case "record":
        return this.record(type)
      case "union":
        return { kind: "union", members: type.members.map((one) => this.#of(one)) }
      case "variant": {
        const copy = { ...type, cases: type.cases.map((one) => ({ ...one, fields: this.#fields(one.fields) })) }
        this.#variantOf(copy, type)
        return copy
      }
      default:
        return type
    }
  }

  #fields(fields: readonly Field[]): Field[] {
    return fields.map((field) => {
      const copy = { ...field, type: this.#of(field.type) }
      this.#fieldOf(copy, field)
      return copy
    })
  }

  #name(own: string): string {
    const name = own.includes("#") ? own : `${this.#file}#${own}`
    const named = this.#from[own]
    if (named === undefined || Object.hasOwn(this.#to, name)) return name
    // First, so that a schema that contains itself is copied once.
    this.#to[name] = named
    this.#to[name] = { ...named, type: this.#of(named.type) }
    return name
  }
}
