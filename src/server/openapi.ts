import { errorStatus, type ApiErrorKind } from "../api/error-kinds.ts"
import { errorAnswer } from "../api/issue.ts"
import { errorsOf, groups, type Answer, type Route } from "../api/route.ts"
import { routes } from "../api/routes.ts"
import { componentName, referenceTo, type Schema } from "../base/typed-schema.ts"
import { executeWorkflow } from "../api/workflows.ts"
import { isJsonObject } from "../base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../base/json-value.ts"
import type { NamedWorkflow } from "../workflows/workflow-folder.ts"
import { workflowPaths } from "./openapi-workflows.ts"
import { sourceTypes } from "./read-body.ts"

/**
 * The pieces of the document's JSON text, with the paths of the workflows. A workflow takes a third of a millisecond, and a folder may have
 * thousands of them: whoever joins the pieces lets others have their turn.
 */
export function* openApiText(
  version: string,
  keysRequired: boolean,
  workflows: readonly NamedWorkflow[],
): Generator<string, undefined, undefined> {
  const { paths, components, ...rest } = openApi(version, keysRequired)
  const { schemas, ...others } = isJsonObject(components) ? components : {}
  const ofAll = operationOf(executeWorkflow, new Components())
  const more: string[] = []
  yield `${openEnded(rest)}"paths":${JSON.stringify(paths).slice(0, -1)}`
  for (const workflow of workflows) {
    const own = workflowPaths([workflow], ofAll)
    yield entriesText(openObjects(own.paths))
    more.push(entriesText(openObjects(own.components)))
    yield ""
  }
  yield `},"components":${openEnded(others)}"schemas":${JSON.stringify(schemas).slice(0, -1)}`
  yield* more
  yield "}}}"
}

/** The text of an object that is to have more members. */
function openEnded(object: JsonObject): string {
  const text = JSON.stringify(object).slice(0, -1)
  return text === "{" ? text : `${text},`
}

/** The members of an object that has some before. */
function entriesText(object: JsonObject): string {
  const members = JSON.stringify(object).slice(1, -1)
  return members === "" ? "" : `,${members}`
}

/** The contract without the workflows of a folder. */
export function openApi(version: string, keysRequired: boolean): JsonObject {
  const components = new Components()
  const paths: Record<string, JsonObject> = {}
  for (const route of routes) {
    const path = route.path.replaceAll("*}", "}")
    const operation = operationOf(route, components)
    const method = route.method.toLowerCase()
    paths[path] = { ...paths[path], [method]: operation }
    const { alias } = route
    if (alias !== undefined) {
      paths[alias] = { ...paths[alias], [method]: { ...operation, operationId: `${route.id}Alias` } }
    }
  }
  const key = { type: "http", scheme: "bearer", description: "One of the keys in `WIRE_API_KEYS`." }
  return openObjects({
    openapi: "3.1.0",
    info: {
      title: "Wireworks",
      version,
      description: "Runs AI workflows written in `.wire` files.",
      contact: { name: "Wireworks" },
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: "/" }],
    security: keysRequired ? [{ key: [] }] : [],
    tags: Object.entries(groups).map(([name, description]) => ({ name, description })),
    paths,
    components: { schemas: components.schemas, ...(keysRequired && { securitySchemes: { key } }) },
  })
}

/** Schemas with a name, each once. */
class Components {
  readonly schemas: Record<string, JsonValue> = {}

  /** The same value; schemas with names are references. */
  refer(value: JsonValue): JsonValue {
    if (Array.isArray(value)) return value.map((item) => this.refer(item))
    if (!isJsonObject(value)) return value
    const name = (value as Schema<unknown>)[componentName]
    if (name === undefined) return this.#inside(value)
    if (this.schemas[name] === undefined) {
      this.schemas[name] = {}
      this.schemas[name] = this.#inside(value)
    }
    return referenceTo(value)
  }

  #inside(value: JsonObject): JsonObject {
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, this.refer(inner)]))
  }
}

function operationOf(route: Route, components: Components): JsonObject {
  const { id, group, summary, description, open, answers } = route
  const parameters = parametersOf(route)
  const requestBody = requestBodyOf(route)
  return components.refer({
    tags: [group],
    operationId: id,
    summary,
    description,
    ...(open !== undefined && { security: [] }),
    ...(parameters.length > 0 && { parameters }),
    ...(requestBody !== null && { requestBody }),
    responses: {
      ...Object.fromEntries(Object.entries(answers).map(([status, answer]) => [status, answerOf(answer)])),
      ...failuresOf(errorsOf(route)),
    },
  }) as JsonObject
}

function parametersOf({ path, parameters = {}, headers = {}, query }: Route): JsonObject[] {
  const names = [...path.matchAll(/\{(\w+)\*?\}/g)].map(([, name = ""]) => name)
  const described = (name: string, where: string, schema: JsonObject): JsonObject => {
    const { description, ...rest } = schema
    return { name, in: where, ...(description !== undefined && { description }), schema: rest }
  }
  const inPath = names.map((name): JsonObject => {
    const description = parameters[name]
    return {
      ...described(name, "path", { type: "string", ...(description !== undefined && { description }) }),
      required: true,
    }
  })
  const properties = query?.["properties"]
  return [
    ...inPath,
    ...Object.entries(headers).map(([name, schema]) => described(name, "header", schema)),
    ...Object.entries(isJsonObject(properties) ? properties : {}).map(([name, schema]) =>
      described(name, "query", isJsonObject(schema) ? schema : {}),
    ),
  ]
}

function requestBodyOf({ body, bodyIs, example }: Route): JsonObject | null {
  if (bodyIs === "file") return fileBody
  if (body === undefined || bodyIs === "none") return null
  const plain = bodyIs === "source" ? sourceTypes.map((type) => [type, { schema: { type: "string" } }]) : []
  const json = { schema: body, ...(example !== undefined && { example }) }
  return { required: true, content: { "application/json": json, ...Object.fromEntries(plain) } }
}

const binary = { type: "string", format: "binary" }
const fileBody = {
  required: true,
  content: {
    "*/*": { schema: binary },
    "multipart/form-data": { schema: { type: "object", properties: { file: binary }, required: ["file"] } },
  },
}

function answerOf({ description, headers = [], content }: Answer): JsonObject {
  const named = headers.map((name) => [name, { schema: { type: "string" } }])
  const typed = Object.entries(content ?? {}).map(([type, schema]) => [type, { schema }])
  return {
    description,
    ...(named.length > 0 && { headers: Object.fromEntries(named) as JsonObject }),
    ...(typed.length > 0 && { content: Object.fromEntries(typed) as JsonObject }),
  }
}

function failuresOf(kinds: readonly ApiErrorKind[]): JsonObject {
  const byStatus = Map.groupBy(kinds, (kind) => errorStatus[kind])
  return Object.fromEntries(
    [...byStatus].map(([status, same]) => {
      const description = same.map((kind) => `\`${kind}\``).join(", ")
      return [String(status), { description, content: { "application/json": { schema: errorAnswer } } }]
    }),
  )
}

/**
 * The same document; schemas of objects of any fields say so. Without that, generators of clients make a type that no field
 * fits.
 */
function openObjects(document: JsonObject): JsonObject {
  const visited = visit(document)
  return isJsonObject(visited) ? visited : document
}

function visit(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(visit)
  if (!isJsonObject(value)) return value
  const entries = Object.entries(value).map(([key, inner]): [string, JsonValue] =>
    key === "example" || key === "examples" ? [key, inner] : [key, visit(inner)],
  )
  const { type } = value
  const isObject = type === "object" || (Array.isArray(type) && type.includes("object"))
  const says = ["properties", "additionalProperties", "patternProperties"].some((key) => Object.hasOwn(value, key))
  return Object.fromEntries(isObject && !says ? [...entries, ["additionalProperties", true]] : entries)
}
