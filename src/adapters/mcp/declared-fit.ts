import { holdsFile } from "../../types/holds-file.ts"
import { isJsonObject } from "../../base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import { childPath } from "../../base/child-path.ts"
import { caseRecord, nullable, resolve } from "../../types/relations.ts"
import { showType } from "../../types/show-type.ts"
import type { RecordType, Type, TypeTable } from "../../types/types.ts"
import { cleanLine } from "./clean-text.ts"
import { SchemaIndex } from "../../base/schema-index.ts"
import { OverBudget, type StepBudget } from "./step-budget.ts"

/** Why a declared type and a published schema have no value in common, at a dotted path below the declaration. */
export interface Clash {
  readonly path: string
  readonly message: string
}

/** Deeper levels are not compared: they are validated when a value comes. */
const deepest = 12
const maxClashes = 20

/**
 * The places where what a workflow declares cannot fit what a server publishes. Only what is certain counts: a field that
 * may be absent, an open object, a union with one member that fits all pass. So does what takes more steps than there are.
 */
export function declaredClashes(
  declared: Type,
  types: TypeTable,
  schema: JsonObject,
  side: "input" | "output",
  steps: StepBudget,
): readonly Clash[] {
  try {
    return new Comparison(types, schema, side, steps).clashes(declared, schema, 0).slice(0, maxClashes)
  } catch (error) {
    if (error instanceof OverBudget) return []
    throw error
  }
}

class Comparison {
  readonly #types: TypeTable
  readonly #index: SchemaIndex
  readonly #side: "input" | "output"
  readonly #steps: StepBudget
  /** By type and schema, below the first level. One that is being compared counts as without clashes: it says nothing new. */
  readonly #compared = new Map<Type, Map<JsonObject, readonly Clash[]>>()

  constructor(types: TypeTable, root: JsonObject, side: "input" | "output", steps: StepBudget) {
    this.#types = types
    this.#index = new SchemaIndex(root)
    this.#side = side
    this.#steps = steps
  }

  /** Paths are relative to the compared place. */
  clashes(declared: Type, published: JsonValue | undefined, depth: number): readonly Clash[] {
    this.#steps.enter(depth)
    const type = resolve(declared, this.#types)
    const schema = this.#resolved(published)
    if (depth > deepest || schema === undefined) return []
    if (schema === false) return [{ path: "", message: "the server allows no value here" }]
    if (!isJsonObject(schema)) return []
    if (depth === 0) return this.#compare(type, schema, depth)
    const compared = this.#compared.get(type) ?? new Map<JsonObject, readonly Clash[]>()
    this.#compared.set(type, compared)
    const known = compared.get(schema)
    if (known !== undefined) return known
    compared.set(schema, [])
    const found = this.#compare(type, schema, depth).slice(0, maxClashes)
    compared.set(schema, found)
    return found
  }

  #compare(type: Type, schema: JsonObject, depth: number): readonly Clash[] {
    if (type.kind === "union") {
      return this.#allOf(type.members.map((member) => this.clashes(member, schema, depth + 1)))
    }
    for (const key of ["anyOf", "oneOf"]) {
      const branches = schema[key]
      if (!Array.isArray(branches) || branches.length === 0) continue
      const found = this.#allOf(branches.map((branch) => this.clashes(type, branch, depth + 1)))
      if (found.length > 0) return found
    }
    const both = schema["allOf"]
    if (Array.isArray(both)) {
      const found = both.flatMap((part) => this.clashes(type, part, depth + 1))
      if (found.length > 0) return found
    }
    return this.#own(type, schema, depth)
  }

  /** Each of these would have to clash. */
  #allOf(found: readonly (readonly Clash[])[]): readonly Clash[] {
    return found.length > 0 && found.every((clashes) => clashes.length > 0) ? (found[0] ?? []) : []
  }

  #own(type: Type, schema: JsonObject, depth: number): readonly Clash[] {
    if (Array.isArray(schema["type"])) this.#steps.spend(schema["type"].length)
    const wanted = kindsOf(type)
    const allowed = allowedKinds(schema)
    if (wanted !== null && allowed !== null && !wanted.some((kind) => allowed.includes(kind))) {
      const message = `the workflow declares ${showType(type)}, the server has ${cleanLine(allowed.filter(unlikeInteger(allowed)).join(" or "), 200)}`
      return [{ path: "", message }]
    }
    const texts = textsOf(type)
    const values = schema["const"] === undefined ? schema["enum"] : [schema["const"]]
    if (Array.isArray(values)) this.#steps.spend(values.length * (texts?.length ?? 1))
    if (texts !== null && Array.isArray(values) && !texts.some((text) => values.includes(text))) {
      const known = values.slice(0, 10).map((value) => cleanLine(JSON.stringify(value), 100))
      return [{ path: "", message: `the workflow declares ${showType(type)}, the server has ${known.join(", ")}` }]
    }
    if (type.kind === "array") return below("[]", this.clashes(type.element, listItems(schema), depth + 1))
    if (type.kind === "map") {
      const { additionalProperties } = schema
      return isJsonObject(additionalProperties)
        ? below("{}", this.clashes(type.value, additionalProperties, depth + 1))
        : []
    }
    if (type.kind === "record") return this.#record(type, schema, depth)
    if (type.kind === "variant") {
      const records = type.cases.map((one) => caseRecord(type, one.name)).filter((record) => record !== undefined)
      return this.#allOf(records.map((record) => this.#record(record, schema, depth)))
    }
    return []
  }

  #record(type: RecordType, schema: JsonObject, depth: number): Clash[] {
    const { properties, additionalProperties, patternProperties, required } = schema
    const known = isJsonObject(properties) ? properties : {}
    const found: Clash[] = []
    for (const field of type.fields) {
      // The images and sounds of an answer stand beside what its schema describes.
      if (this.#side === "output" && depth === 0 && holdsFile(field.type, this.#types)) continue
      const at = childPath("", field.name)
      if (Object.hasOwn(known, field.name)) {
        found.push(...below(at, this.clashes(field.type, known[field.name], depth + 1)))
      } else if (isJsonObject(additionalProperties)) {
        found.push(...below(at, this.clashes(field.type, additionalProperties, depth + 1)))
      } else if (patternProperties === undefined && this.#isClosed(schema, depth) && !this.#mayBeMissing(field.type)) {
        const what = this.#side === "input" && depth === 0 ? "argument" : "field"
        found.push({ path: at, message: `the server has no ${what} ${field.name}` })
      }
    }
    // A result is read as far as it is declared. What a call must give may also be bound; the code that knows the bindings checks that.
    if (this.#side === "output" || depth === 0) return found
    const declared = new Set(type.fields.map(({ name }) => name))
    for (const name of Array.isArray(required) ? required : []) {
      this.#steps.spend()
      if (typeof name !== "string" || declared.has(name)) continue
      const message = `the server needs the field ${cleanLine(name, 100)}, which the workflow does not declare`
      found.push({ path: childPath("", name), message })
    }
    return found
  }

  /** A field of a result that may be null is null where the server gives none. */
  #mayBeMissing(type: Type): boolean {
    return this.#side === "output" && nullable(type, this.#types)
  }

  /** An argument that the schema does not name is a mistake, even where the schema does not forbid it. */
  #isClosed({ additionalProperties, properties }: JsonObject, depth: number): boolean {
    if (additionalProperties === false) return true
    return this.#side === "input" && depth === 0 && additionalProperties === undefined && isJsonObject(properties)
  }

  #resolved(schema: JsonValue | undefined): JsonValue | undefined {
    let at = schema
    for (let hops = 0; isJsonObject(at) && typeof at["$ref"] === "string"; hops++) {
      if (hops > deepest) return undefined
      this.#steps.spend()
      at = this.#index.resolve(at["$ref"])
    }
    return at
  }
}

function below(place: string, clashes: readonly Clash[]): Clash[] {
  return clashes.map(({ path, message }) => {
    const joint = path === "" || path.startsWith("[") ? "" : "."
    return { path: `${place}${joint}${path}`, message }
  })
}

function listItems(schema: JsonObject): JsonValue | undefined {
  return schema["prefixItems"] === undefined && !Array.isArray(schema["items"]) ? schema["items"] : undefined
}

/** The JSON types that values of a type have; null when it may be any. */
function kindsOf(type: Type): string[] | null {
  switch (type.kind) {
    case "string":
    case "literal":
    case "enum":
      return ["string"]
    case "number":
      return ["number", "integer"]
    case "integer":
      return ["integer", "number"]
    case "boolean":
    case "null":
      return [type.kind]
    case "array":
    case "tuple":
      return ["array"]
    case "record":
    case "map":
    case "variant":
    case "object":
      return ["object"]
    default:
      return null
  }
}

function allowedKinds(schema: JsonObject): string[] | null {
  const { type, enum: values } = schema
  const named =
    typeof type === "string" ? [type] : Array.isArray(type) ? type.filter((one) => typeof one === "string") : null
  if (named !== null) return named.includes("number") ? [...named, "integer"] : named
  const given = schema["const"] === undefined ? values : [schema["const"]]
  return Array.isArray(given) ? [...new Set(given.map(kindOf))] : null
}

function kindOf(value: JsonValue): string {
  if (value === null) return "null"
  if (Array.isArray(value)) return "array"
  return typeof value
}

/** `integer` is not worth a word beside `number`. */
function unlikeInteger(kinds: readonly string[]): (kind: string) => boolean {
  return (kind) => kind !== "integer" || !kinds.includes("number")
}

function textsOf(type: Type): readonly string[] | null {
  if (type.kind === "literal") return [type.value]
  return type.kind === "enum" ? type.values : null
}
