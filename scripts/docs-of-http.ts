import { errorAdvice, errorStatus, type ApiErrorKind } from "../src/api/error-kinds.ts"
import { events, partial } from "../src/api/events.ts"
import { partialEvent } from "../src/log/partials/agent-partials.ts"
import { question } from "../src/api/questions.ts"
import { groups, type Answer, type Route } from "../src/api/route.ts"
import { routes } from "../src/api/routes.ts"
import { componentName, type Schema } from "../src/api/schema.ts"
import { isJsonObject } from "../src/base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../src/base/json-value.ts"
import { markdownTable } from "./markdown-table.ts"

// Parts of docs/http.md, from the descriptions of the routes.

export function routeTable(): string {
  const rows = routes.map((route) => [`[\`${addressOf(route)}\`](#${route.id.toLowerCase()})`, route.summary])
  return markdownTable(["route", ""], rows)
}

export function errorTable(): string {
  const kinds = Object.keys(errorStatus) as ApiErrorKind[]
  return markdownTable(
    ["kind", "status", "what to do"],
    kinds.map((kind) => [`\`${kind}\``, String(errorStatus[kind]), errorAdvice[kind]]),
  )
}

export function eventTable(): string {
  return markdownTable(
    ["event", "data"],
    Object.entries({ ...events, [partialEvent]: partial }).map(([type, { text }]) => [`\`${type}\``, text]),
  )
}

export const questionTable = (): string => fieldTable("field of a question", question)

export function reference(): string {
  const grouped = Map.groupBy(routes, ({ group }) => group)
  const shown: Shown = new Map()
  return (Object.keys(groups) as (keyof typeof groups)[])
    .flatMap((group) => [
      `### ${group}`,
      groups[group],
      ...(grouped.get(group) ?? []).map((route) => referenceOf(route, shown)),
    ])
    .join("\n\n")
}

/** Named objects inside of requests whose fields have been listed, and the route where: fields that routes share are listed once. */
type Shown = Map<string, string>

function referenceOf(route: Route, shown: Shown): string {
  const { id, summary, description, path, parameters = {}, headers = {}, query, body, bodyIs, answers, errors } = route
  const place = (where: string, schema: JsonObject): string[][] =>
    fieldsOf(schema, (name) => {
      const other = shown.get(name)
      shown.set(name, other ?? id)
      return other
    }).map(({ name, type, about }) => [name, where, type, about])
  const given = [
    ...[...path.matchAll(/\{(\w+)\*?\}/g)].map(([, name = ""]) => [name, "path", "string", parameters[name] ?? ""]),
    ...Object.entries(headers).map(([name, schema]) => [name, "header", typeOf(schema), aboutOf(schema)]),
    ...place("query", query ?? {}),
    ...place("body", bodyIs === "none" ? {} : (body ?? {})),
  ].map(([name = "", ...rest]) => [`\`${name}\``, ...rest])
  const also = route.alias === undefined ? "" : ` \`${route.alias}\` is the same.`
  return [
    `#### ${id}`,
    `\`${addressOf(route)}\`: ${summary}. ${description}${also}`,
    ...(given.length === 0 ? [] : [markdownTable(["", "in", "type", ""], given)]),
    ...(bodyIs === "source" ? ["The body may also be the source itself, as `text/plain`."] : []),
    ...Object.entries(answers).map(([status, answer]) => answerText(status, answer)),
    ...(errors === undefined ? [] : [`Errors: ${errors.map((kind) => `\`${kind}\``).join(", ")}.`]),
  ].join("\n\n")
}

function answerText(status: string, { description, content }: Answer): string {
  const types = Object.entries(content ?? {}).map(([type, schema]) => {
    const names = fieldsOf(schema).filter(({ name }) => !name.includes("."))
    const list = names.map(({ name }) => `\`${name}\``).join(", ")
    return names.length === 0 ? `\`${type}\`` : `\`${type}\` with ${list}`
  })
  return `**${status}** ${description}${types.length === 0 ? "" : ` ${types.join("; ")}.`}`
}

const addressOf = ({ method, path }: Route): string => `${method} ${path.replaceAll("*}", "}")}`

interface Field {
  readonly name: string
  readonly type: string
  readonly about: string
}

function fieldTable(title: string, schema: Schema<unknown>): string {
  return markdownTable(
    [title, "type", ""],
    fieldsOf(schema).map(({ name, type, about }) => [`\`${name}\``, type, about]),
  )
}

/** The fields of an object, and those of objects in it (`options.cache_key`) unless they are listed elsewhere. */
function fieldsOf(schema: JsonObject, listedAt: ((name: string) => string | undefined) | null = null): Field[] {
  const { properties, required } = schema
  if (!isJsonObject(properties)) return []
  return Object.entries(properties).flatMap(([name, value]): Field[] => {
    const field = isJsonObject(value) ? value : {}
    const needed = Array.isArray(required) && required.includes(name)
    const type = needed ? `${typeOf(field)}, required` : typeOf(field)
    const object = listedAt === null ? field : objectIn(field)
    const shared = nameOf(object)
    const other = shared === undefined ? undefined : listedAt?.(shared)
    if (other !== undefined) return [{ name, type, about: `As in [${other}](#${other.toLowerCase()}).` }]
    const hasFields = isJsonObject(object["properties"]) && (shared === undefined || listedAt !== null)
    const inner = hasFields ? fieldsOf(object, listedAt) : []
    return [{ name, type, about: aboutOf(field) }, ...inner.map((one) => ({ ...one, name: `${name}.${one.name}` }))]
  })
}

/** The object of a field that may also be null. */
function objectIn(field: JsonObject): JsonObject {
  const { anyOf } = field
  const objects = Array.isArray(anyOf)
    ? anyOf.filter(isJsonObject).filter(({ properties }) => properties !== undefined)
    : []
  return objects.length === 1 ? (objects[0] ?? field) : field
}

const aboutOf = ({ description }: JsonObject): string => (typeof description === "string" ? description : "")

const nameOf = (schema: JsonObject): string | undefined => (schema as Schema<unknown>)[componentName]

function typeOf(schema: JsonValue | undefined): string {
  if (!isJsonObject(schema)) return "any"
  const name = nameOf(schema)
  const { type, items, anyOf } = schema
  if (name !== undefined) return name
  if (Array.isArray(schema["enum"]))
    return schema["enum"]
      .map((value) => `\`${JSON.stringify(value)}\``)
      .join(", ")
      .replaceAll('"', "")
  if (Array.isArray(anyOf))
    return anyOf
      .map(typeOf)
      .filter((one) => one !== "null")
      .join(" or ")
  if (type === undefined) return "any"
  if (type === "null") return "null"
  const names = [type]
    .flat()
    .filter((one) => one !== "null")
    .map(String)
  return names.map((one) => (one === "array" ? `list of ${typeOf(items)}` : one)).join(" or ")
}
