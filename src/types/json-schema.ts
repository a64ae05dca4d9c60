import type { JsonObject } from "../base/json-value.ts"
import { mayBeLeftOut, resolve, sameAsWritten } from "./relations.ts"
import { namesToDefine } from "./schema-definitions.ts"
import type { ArrayType, Field, RecordType, TupleType, Type, TypeTable, VariantType } from "./types.ts"

/**
 * `plain` is section "Types" of the language reference to the letter; `strict` is described in `strict-schema.ts`; of `answer`, fields that may be null
 * can be left out, as `withNulls` fills them in, and so can those that have a default. It is the dialect of inputs, too.
 */
export type SchemaDialect = "plain" | "strict" | "answer"

/** Bounds on what no author writes by hand: what lies beyond them is written as `{}`, which allows everything. */
const deepest = 200
const maxNodes = 200_000

/**
 * The JSON Schema (2020-12) of a type. Named schemas are written out where they are used, recursive ones once in `$defs`.
 * The root is never a mere `$ref`: a reader who asks for an object finds `"type": "object"` at the top.
 */
export function toJsonSchema(type: Type, types: TypeTable, dialect: SchemaDialect = "plain"): JsonObject {
  return new SchemaWriter(type, types, dialect).write()
}

class SchemaWriter {
  readonly #root: Type
  readonly #types: TypeTable
  readonly #dialect: SchemaDialect
  readonly #defined: ReadonlySet<string>
  /** Definitions that the text so far refers to, in the order of their first mention. */
  readonly #wanted = new Set<string>()
  #nodes = 0

  constructor(root: Type, types: TypeTable, dialect: SchemaDialect) {
    this.#root = root
    this.#types = types
    this.#dialect = dialect
    this.#defined = namesToDefine(root, types)
  }

  write(): JsonObject {
    const root =
      this.#root.kind === "ref" ? this.#body(this.#root.name, undefined, 0) : this.#schema(this.#root, undefined, 0)
    const definitions: [string, JsonObject][] = []
    // Grows while it is walked: a definition may mention the next one.
    for (const name of this.#wanted) definitions.push([definitionName(name), this.#body(name, undefined, 0)])
    return definitions.length === 0 ? root : { ...root, $defs: Object.fromEntries(definitions) }
  }

  #schema(type: Type, description: string | undefined, depth: number): JsonObject {
    if (depth > deepest || ++this.#nodes > maxNodes) return describe({}, description)
    switch (type.kind) {
      case "string":
      case "boolean":
      case "null":
      case "number":
      case "integer":
      case "object":
        return describe({ type: type.kind }, description)
      case "file":
        return describe(this.#dialect === "answer" ? givenFileSchema : fileSchema, description)
      case "any":
      case "asset":
      case "error":
        return describe({}, description)
      case "literal":
        return this.#dialect === "strict"
          ? { ...describe({ type: "string" }, description), const: type.value }
          : describe({ const: type.value }, description)
      case "enum":
        return { ...describe({ type: "string" }, description), enum: [...type.values] }
      case "array":
        return this.#array(type, description, depth)
      case "tuple":
        return this.#tuple(type, description, depth)
      case "record":
        return this.#record(type, description, depth)
      case "map":
        return {
          ...describe({ type: "object" }, description),
          additionalProperties: this.#schema(type.value, undefined, depth + 1),
        }
      case "union":
        return this.#anyOf(
          type.members.map((member) => this.#schema(member, undefined, depth + 1)),
          description,
        )
      case "variant":
        return this.#variant(type, description, depth)
      case "ref":
        return this.#ref(type.name, description, depth)
    }
  }

  #array(type: ArrayType, description: string | undefined, depth: number): JsonObject {
    const { element, length } = type
    const schema = { ...describe({ type: "array" }, description), items: this.#schema(element, undefined, depth + 1) }
    return length === undefined ? schema : { ...schema, minItems: length, maxItems: length }
  }

  #tuple(type: TupleType, description: string | undefined, depth: number): JsonObject {
    const length = type.elements.length
    const [first] = type.elements
    if (this.#dialect === "strict" && first !== undefined && isUniform(type)) {
      return this.#array({ kind: "array", element: first, length }, description, depth)
    }
    const schema = describe({ type: "array" }, description)
    // `prefixItems` may not be empty.
    if (length > 0) schema["prefixItems"] = type.elements.map((element) => this.#schema(element, undefined, depth + 1))
    return { ...schema, items: false, minItems: length, maxItems: length }
  }

  #record(type: RecordType, description: string | undefined, depth: number): JsonObject {
    const properties = type.fields.map((field): [string, JsonObject] => {
      const schema = this.#schema(field.type, field.doc, depth + 1)
      const hasDefault = this.#dialect === "answer" && field.default !== undefined
      return [field.name, hasDefault ? { ...schema, default: field.default ?? null } : schema]
    })
    const isNeeded = (field: Field): boolean => this.#dialect !== "answer" || !mayBeLeftOut(field, this.#types)
    const required = type.fields.filter(isNeeded)
    return {
      ...describe({ type: "object" }, description),
      properties: Object.fromEntries(properties),
      required: required.map((field) => field.name),
      additionalProperties: false,
    }
  }

  #variant(type: VariantType, description: string | undefined, depth: number): JsonObject {
    const cases = type.cases.map(({ name, fields, doc }) => {
      const tag: Field = { name: type.tag, type: { kind: "literal", value: name } }
      return this.#record({ kind: "record", fields: [tag, ...fields] }, doc, depth + 1)
    })
    return this.#anyOf(cases, description)
  }

  /** A member that is nothing but an `anyOf` itself (a variant) is taken apart. */
  #anyOf(members: JsonObject[], description: string | undefined): JsonObject {
    const flat = members.flatMap((member) => {
      const { anyOf, ...rest } = member
      return Array.isArray(anyOf) && Object.keys(rest).length === 0 ? anyOf : [member]
    })
    return { ...describe({}, description), anyOf: flat }
  }

  #ref(name: string, description: string | undefined, depth: number): JsonObject {
    if (!this.#defined.has(name)) return this.#body(name, description, depth)
    this.#wanted.add(name)
    const ref: JsonObject = { $ref: `#/$defs/${definitionName(name)}` }
    // Strict backends refuse anything beside a `$ref`.
    if (this.#dialect === "strict" && description !== undefined) return this.#anyOf([ref], description)
    return describe(ref, description)
  }

  /** The named type written out; what is said at the place of use goes before what is said of the type. */
  #body(name: string, description: string | undefined, depth: number): JsonObject {
    const doc = Object.hasOwn(this.#types, name) ? this.#types[name]?.doc : undefined
    return this.#schema(resolve({ kind: "ref", name }, this.#types), description ?? doc, depth + 1)
  }
}

/** How a file is in outputs. */
const fileSchema: JsonObject = {
  type: "object",
  properties: {
    file_id: { type: "string" },
    name: { type: "string" },
    media_type: { type: "string" },
    bytes: { type: "integer" },
    sha256: { type: "string" },
  },
  required: ["file_id", "name", "media_type", "bytes", "sha256"],
  additionalProperties: false,
}

/** How a caller may give one. */
const givenFileSchema: JsonObject = {
  anyOf: [
    {
      type: "object",
      properties: {
        file_id: { type: "string", description: "The id of a file that the caller sent or a run of it made." },
      },
      required: ["file_id"],
      additionalProperties: false,
    },
    {
      type: "object",
      properties: { url: { type: "string", format: "uri", description: "Fetched once, when the run begins." } },
      required: ["url"],
      additionalProperties: false,
    },
    {
      type: "object",
      properties: {
        data: { type: "string", contentEncoding: "base64" },
        media_type: { type: "string" },
        name: { type: "string" },
      },
      required: ["data"],
      additionalProperties: false,
    },
    { type: "string", pattern: "^data:[^,]*;base64,", description: "A data URL." },
    fileSchema,
  ],
}

/** A schema of another file, `lib/common.wire#task`, has a name that can stand in a reference: `/` and `#` have a meaning there. */
function definitionName(name: string): string {
  return name.replace(/[^\w.-]/g, "__")
}

function describe(schema: JsonObject, description: string | undefined): JsonObject {
  return description === undefined ? schema : { ...schema, description }
}

/** Whether all elements are of one type, so that the tuple is as good as an array of that length. */
export function isUniform(type: TupleType): boolean {
  const [first, ...others] = type.elements
  return first !== undefined && others.every((other) => sameAsWritten(first, other))
}
