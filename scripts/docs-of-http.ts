import { errorAdvice, errorStatus, type ApiErrorKind } from "../src/api/error-kinds.ts"
import { partialEvent } from "../src/log/partials/agent-partials.ts"
import { events, partial, question } from "../src/log/event-schemas.ts"
import { groups, type Answer, type Route } from "../src/api/route.ts"
import { routes } from "../src/api/routes.ts"
import { componentName, type Schema } from "../src/base/typed-schema.ts"
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

/** The events, and the fields that several of them have. */
export function eventTable(): string {
  const described = Object.entries({ ...events, [partialEvent]: partial }).map(([type, { about, data }]) => {
    // The page lists the fields of a question elsewhere.
    const isListed = (name: string): boolean => type === "question_asked" && name in questionFields
    return { type, about, fields: eventFields(data).filter(({ name }) => !isListed(name)) }
  })
  const uses = Map.groupBy(
    described.flatMap(({ fields }) => fields),
    ({ schema }) => schema,
  )
  const isShared = ({ schema }: EventField): boolean => (uses.get(schema)?.length ?? 0) > 1
  const rows = described.map(({ type, about, fields }) => [
    `\`${type}\``,
    about,
    fields.map((field) => fieldText(field, isShared(field))).join(", "),
  ])
  const explained = [...uses.values()].flat().filter((field) => isShared(field) && aboutOf(field.schema) !== "")
  const byName = Map.groupBy(explained, ({ name }) => name)
  return [
    markdownTable(["event", "", "data"], rows),
    "A field with `?` may be missing. Fields that several events have:",
    markdownTable(
      ["field", "type", ""],
      [...byName].map(([name, fields]) => [
        `\`${name}\``,
        typeOf(fields[0]?.schema),
        [...new Set(fields.map(({ schema }) => aboutOf(schema)))].join(" "),
      ]),
    ),
  ].join("\n\n")
}

const questionFields = isJsonObject(question["properties"]) ? question["properties"] : {}

interface EventField {
  readonly name: string
  readonly isOptional: boolean
  readonly schema: JsonObject
}

/** The fields of an event; of one with several forms, those of all forms. */
function eventFields(data: JsonObject): EventField[] {
  const forms = Array.isArray(data["oneOf"]) ? data["oneOf"].filter(isJsonObject) : [data]
  const found = new Map<string, EventField>()
  for (const { properties, required } of forms) {
    for (const [name, schema] of Object.entries(isJsonObject(properties) ? properties : {})) {
      const isInAll = forms.every((form) => isJsonObject(form["properties"]) && name in form["properties"])
      const isOptional = !isInAll || !Array.isArray(required) || !required.includes(name)
      if (isJsonObject(schema) && !found.has(name)) found.set(name, { name, isOptional, schema })
    }
  }
  return [...found.values()]
}

function fieldText({ name, isOptional, schema }: EventField, isShared: boolean): string {
  const text = `\`${name}${isOptional ? "?" : ""}\``
  const about = aboutOf(schema)
  return isShared || about === ""
    ? text
    : `${text} (${about.replace(/^[A-Z](?![A-Z])/, (letter) => letter.toLowerCase()).replace(/\.$/, "")})`
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
