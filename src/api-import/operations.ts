import { connectionHeaders, isHeaderName } from "../base/header-text.ts"
import { isJsonObject } from "../base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../base/json-value.ts"
import { httpMethods, isRoute, readRoute, type HttpMethod } from "../check/http-route.ts"
import type { Field, Type } from "../types/types.ts"
import { FreeNames } from "./free-names.ts"
import { orNull, type Schemas } from "./schemas.ts"

export interface Operation {
  /** The operation's id; the method and the path without one. */
  readonly id: string
  /** One that tools have, or another one of OpenAPI. */
  readonly method: string
  readonly path: string
  readonly item: JsonObject
  readonly body: JsonObject
}

export interface ImportedOperation {
  readonly name: string
  readonly route: string
  readonly summary: string | undefined
  readonly description: string | undefined
  readonly input: readonly Field[]
  readonly send: readonly (readonly [string, string, string?])[]
  readonly output: readonly Field[] | null
  /** Sentences about what is left out. */
  readonly left: readonly string[]
  /** The server of its own, where it has one. */
  readonly servers: JsonValue | undefined
}

/** Why a whole operation is left out. */
export interface LeftOut {
  readonly route: string
  readonly why: string
}

/** Methods of OpenAPI that no tool has. */
const otherMethods = ["HEAD", "OPTIONS", "TRACE"]

export function canBeTool({ method }: Operation): boolean {
  return !otherMethods.includes(method)
}

/** The operations of a document in its order, and the paths that cannot be read. */
export function operationsOf(
  document: JsonObject,
  schemas: Schemas,
): { readonly operations: readonly Operation[]; readonly unreadable: readonly LeftOut[] } {
  const operations: Operation[] = []
  const unreadablePaths: LeftOut[] = []
  const { paths } = document
  for (const [path, value] of Object.entries(isJsonObject(paths) ? paths : {})) {
    const item = schemas.resolve(value)
    if (!isJsonObject(item)) {
      unreadablePaths.push({ route: path, why: unreadable })
      continue
    }
    for (const method of [...httpMethods, ...otherMethods]) {
      const body = item[method.toLowerCase()]
      if (!isJsonObject(body)) continue
      const { operationId } = body
      const id = typeof operationId === "string" && operationId.trim() !== "" ? operationId : `${method} ${path}`
      operations.push({ id, method, path, item, body })
    }
  }
  return { operations, unreadable: unreadablePaths }
}

interface Argument {
  readonly name: string
  readonly in: "path" | "query" | "header"
  readonly field: Field
}

/** Headers that an argument may not set, besides those of the connection: OpenAPI ignores the first three, too. */
const refusedHeaders =
  /^(?:accept|content-type|authorization|accept-encoding|cookie|proxy-authorization|idempotency-key)$/i

export class Operations {
  readonly #schemas: Schemas
  readonly #names = new FreeNames()
  readonly #notes: string[]

  /** `notes` gets what the schemas leave out. */
  constructor(schemas: Schemas, notes: string[]) {
    this.#schemas = schemas
    this.#notes = notes
  }

  import(operation: Operation): ImportedOperation | LeftOut {
    const { id, path, item, body } = operation
    const route = `${operation.method} ${path}`
    if (!canBeTool(operation)) return { route, why: "no tool has this method" }
    const read = readRoute(route)
    if (!isRoute(read)) return { route, why: read.problem }
    const { method } = read
    this.#notes.length = 0
    const left: string[] = []
    const given = this.#arguments(item, body, left)
    const inPath = new Set(given.filter((one) => one.in === "path").map(({ name }) => name))
    for (const name of read.names) {
      if (inPath.has(name)) continue
      if (name === "__proto__") return { route, why: "a part of the path cannot be a name" }
      const taken = given.findIndex((one) => one.name === name)
      if (taken >= 0) given.splice(taken, 1)
      given.push({ name, in: "path", field: { name, type: { kind: "string" } } })
    }
    // Parameters of the path that are not in it go nowhere.
    const used = given.filter((one) => one.in !== "path" || read.names.includes(one.name))
    const fields = used.map(({ field }) => field)
    const send: (readonly [string, string, string?])[] = used.flatMap((one) =>
      one.in === "header" ? [[one.name, "header", one.name] as const] : [],
    )
    const content = this.#body(method, body, new Set(fields.map(({ name }) => name)), left)
    if (content === "unsayable") return { route, why: "its body is not JSON" }
    if (content !== null) {
      fields.push(...content.fields)
      if (content.whole) send.push(...content.fields.map(({ name }) => [name, "body"] as const))
    }
    const isWhole = content?.whole === true
    if (method !== "GET" && method !== "DELETE" && !isWhole) {
      for (const one of used) if (one.in === "query") send.push([one.name, "query"])
    }
    const output = this.#output(body["responses"], left)
    const { summary, description } = body
    return {
      name: this.#names.of(nameOf(id, route)),
      route,
      summary: textOf(summary),
      description: textOf(description) ?? textOf(summary),
      input: fields,
      send,
      output,
      left: [...left, ...this.#notes],
      servers: body["servers"] ?? item["servers"],
    }
  }

  /** Arguments of the path item and of the operation; the operation's win. */
  #arguments(item: JsonObject, body: JsonObject, left: string[]): Argument[] {
    const byKey = new Map<string, JsonObject>()
    for (const list of [item["parameters"], body["parameters"]]) {
      for (const one of Array.isArray(list) ? list : []) {
        const parameter = this.#schemas.resolve(one)
        if (!isJsonObject(parameter) || typeof parameter["name"] !== "string")
          left.push("A parameter that cannot be read")
        else byKey.set(`${textOf(parameter["in"]) ?? ""} ${parameter["name"]}`, parameter)
      }
    }
    const found = new Map<string, Argument>()
    for (const parameter of byKey.values()) {
      const name = parameter["name"] as string
      const outcome = this.#argument(name, parameter)
      if (typeof outcome === "string") left.push(`The parameter ${name}: ${outcome}`)
      else if (found.has(name)) left.push(`The parameter ${name}: another one has its name`)
      else found.set(name, outcome)
    }
    return [...found.values()]
  }

  #argument(name: string, parameter: JsonObject): Argument | string {
    const { in: place, style, explode, content } = parameter
    if (name === "" || name === "__proto__") return "it has no name that a field can have"
    if (place === "cookie") return "cookies are not sent"
    if (place !== "path" && place !== "query" && place !== "header") return "its place is unknown"
    if (place === "header" && (refusedHeaders.test(name) || connectionHeaders.has(name.toLowerCase())))
      return "an argument may not set this header"
    if (place === "header" && !isHeaderName(name)) return "it cannot be the name of a header"
    const isJson = isJsonObject(content)
    const schema = isJson ? Object.values(content).find(isJsonObject)?.["schema"] : parameter["schema"]
    const type = this.#schemas.typeOf(schema ?? { type: "string" }, "body", name)
    const isPath = place === "path"
    const isRequired = parameter["required"] === true || isPath
    const doc = textOf(parameter["description"])
    const plain = type === null ? null : withoutNull(type)
    const mayBeNull = !isRequired || (!isPath && type !== null && isNullable(type))
    const field = (of: Type): Field => {
      return { name, type: orNull(of, mayBeNull), ...(doc === undefined ? {} : { doc }) }
    }
    if (place !== "query") {
      const usual = style === undefined || style === "simple"
      if (!usual) return `its style ${textOf(style) ?? ""} is not spoken`
      if (plain !== null && isScalar(plain)) return { name, in: place, field: field(plain) }
      const why = plain === null ? this.#schemas.whyNot(schema) : "a path and a header take one value"
      this.#notes.push(`The type of the parameter ${name}: ${why}; it is declared as a string`)
      return { name, in: place, field: field({ kind: "string" }) }
    }
    if (plain === null) return this.#schemas.whyNot(schema)
    if (isScalar(plain)) return { name, in: "query", field: field(plain) }
    const isUsual = (style === undefined || style === "form") && explode !== false && !isJson
    if (plain.kind === "array" && isUsual) return { name, in: "query", field: field(plain) }
    if (plain.kind !== "array" && isJson) return { name, in: "query", field: field(plain) }
    return "it is written into the query in a way that is not spoken"
  }

  #body(
    method: HttpMethod,
    operation: JsonObject,
    taken: ReadonlySet<string>,
    left: string[],
  ): { readonly fields: readonly Field[]; readonly whole: boolean } | null | "unsayable" {
    const request = this.#schemas.resolve(operation["requestBody"])
    if (!isJsonObject(request)) {
      if (operation["requestBody"] !== undefined) left.push(`The body: ${unreadable}`)
      return null
    }
    const isRequired = request["required"] === true
    const schema = jsonSchema(request["content"])
    if (schema === undefined || method === "GET") {
      if (method !== "GET" && isRequired) return "unsayable"
      left.push(method === "GET" ? "The body: a GET has none" : "The body: it is not JSON")
      return null
    }
    const before = this.#notes.length
    const fields = this.#schemas.fieldsOf(schema, "body", "body")
    const isFlat = fields !== null && method !== "DELETE" && fields.every(({ name }) => !taken.has(name))
    if (isFlat) {
      const optional = fields.map((field) => ({ ...field, type: orNull(field.type, !isRequired) }))
      return { fields: optional, whole: false }
    }
    // They are read again as one value. A schema that was declared is not.
    this.#notes.push(...this.#notes.splice(before).filter((note) => note.startsWith("schema.")))
    let name = "body"
    for (let count = 2; taken.has(name); count++) name = `body_${count}`
    const type = this.#schemas.typeOf(schema, "body", name)
    if (type === null) {
      left.push(`The body: ${this.#schemas.whyNot(schema)}; it is declared as an object`)
    }
    return { fields: [{ name, type: orNull(type ?? { kind: "object" }, !isRequired) }], whole: true }
  }

  /** The first answer that says that all went well. */
  #output(responses: JsonValue | undefined, left: string[]): readonly Field[] | null {
    if (!isJsonObject(responses)) return null
    const good = Object.keys(responses).find((status) => /^2(?:\d\d|XX)$/i.test(status)) ?? "default"
    const response = this.#schemas.resolve(responses[good])
    if (responses[good] !== undefined && !isJsonObject(response)) left.push(`The answer: ${unreadable}`)
    const schema = isJsonObject(response) ? jsonSchema(response["content"]) : undefined
    if (schema === undefined) return null
    const before = this.#notes.length
    const fields = this.#schemas.fieldsOf(schema, "answer", "answer")
    if (fields !== null && fields.length > 0) return fields
    this.#notes.length = before
    const isKnown = isJsonObject(this.#schemas.resolve(schema))
    const why = isKnown ? "it is not an object with fields" : this.#schemas.whyNot(schema)
    left.push(`The type of the answer: ${why}, and stays untyped`)
    return null
  }
}

const unreadable = "it is a reference that leads nowhere, or to another document"

/** The operation's id; without one, the words of the method and the path. */
function nameOf(id: string, route: string): string {
  if (id !== route) return id
  const words = route.match(/[A-Za-z0-9]+/g) ?? []
  return words.join("_").toLowerCase()
}

function textOf(value: JsonValue | undefined): string | undefined {
  return typeof value === "string" && value.trim() !== "" ? value : undefined
}

/** The schema of JSON content. */
function jsonSchema(content: JsonValue | undefined): JsonValue | undefined {
  if (!isJsonObject(content)) return undefined
  const type = Object.keys(content).find((one) => /^[\w.*-]+\/(?:[\w.-]+\+)?json\s*(?:;|$)/i.test(one) || one === "*/*")
  const media = type === undefined ? undefined : content[type]
  return isJsonObject(media) ? (media["schema"] ?? {}) : undefined
}

function isNullable(type: Type): boolean {
  return type.kind === "null" || (type.kind === "union" && type.members.some(({ kind }) => kind === "null"))
}

function withoutNull(type: Type): Type {
  if (type.kind !== "union") return type
  const members = type.members.filter(({ kind }) => kind !== "null")
  const [only] = members
  return only !== undefined && members.length === 1 ? only : { kind: "union", members }
}

/** What a path and a header take. */
function isScalar(type: Type): boolean {
  if (type.kind === "union") return type.members.every(isScalar)
  return ["string", "number", "integer", "boolean", "enum", "literal"].includes(type.kind)
}
