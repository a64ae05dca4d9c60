import { hasDotSegment } from "../../base/has-dot-segment.ts"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import type { HttpToolPlan } from "../../plan/plan-shape.ts"

export interface HttpRequest {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
  /** A body with files in place of that: the file itself, or a form. */
  readonly contents?: BodyOfFiles
}

export type BodyOfFiles =
  | { readonly kind: "file"; readonly file: JsonValue }
  | { readonly kind: "form"; readonly fields: JsonObject }

/** Why nothing is sent. */
export interface NotSendable {
  readonly problem: string
}

/** Puts the arguments of a call where they go: the path, the query, headers, the body. `files`: the arguments that are files, or lists of them. */
export function buildRequest(
  http: HttpToolPlan,
  endpoint: string,
  values: JsonObject,
  files: ReadonlySet<string> = noNames,
): HttpRequest | NotSendable {
  const { method, path, send, nulls } = http
  const filled = fillPath(path, values)
  if (typeof filled !== "string") return filled
  const inPath = new Set([...path.matchAll(/\{([^{}]+)\}/g)].map(([, name]) => name))
  const entries = Object.entries(values).filter(([name]) => !inPath.has(name))
  const hasWholeBody = entries.some(([name]) => send[name]?.to === "body")
  const usual = method === "GET" || method === "DELETE" || hasWholeBody || bodyIsTaken(send) ? "query" : "body-field"
  const query: string[] = []
  const headers: Record<string, string> = {}
  const fields: JsonObject = {}
  let whole: JsonValue | undefined
  let contents: BodyOfFiles | undefined
  for (const [name, value] of entries) {
    const to = send[name] ?? { to: usual }
    switch (to.to) {
      case "query":
        for (const text of queryTexts(value)) query.push(`${inQuery(name)}=${inQuery(text)}`)
        break
      case "header": {
        if (value === null) break
        const text = asText(value)
        if (!/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(text)) {
          return { problem: `The value of ${name} cannot be sent in a header: only visible ASCII characters can` }
        }
        headers[to.name] = text
        break
      }
      case "body":
        if (files.has(name) && value !== null) {
          contents = { kind: "file", file: value }
          break
        }
        whole = nulls ? value : withoutNulls(value)
        break
      case "body-field":
        if (nulls || value !== null) define(fields, name, nulls ? value : withoutNulls(value))
    }
  }
  const base = endpoint.endsWith("/") ? endpoint.slice(0, -1) : endpoint
  const url = `${base}${filled}${query.length === 0 ? "" : `?${query.join("&")}`}`
  const hasFile = [...files].some((name) => (fields[name] ?? null) !== null)
  if (usual === "body-field" && hasFile) contents = { kind: "form", fields }
  if (contents !== undefined) return { url, headers, body: null, contents }
  // A whole body that is null is none, unless nulls are sent.
  const sent = usual === "body-field" ? fields : whole === null && !nulls ? undefined : whole
  return { url, headers, body: sent === undefined ? null : JSON.stringify(sent) }
}

const noNames: ReadonlySet<string> = new Set()

/** Whether an argument is the whole body, given or not. */
function bodyIsTaken(send: HttpToolPlan["send"]): boolean {
  return Object.values(send).some(({ to }) => to === "body")
}

/** Each value is one segment, or a part of one. */
function fillPath(path: string, values: JsonObject): string | NotSendable {
  const segments: string[] = []
  for (const segment of path.split("/")) {
    const filled = segment.replaceAll(/\{([^{}]+)\}/g, (_, name: string) =>
      encodeURIComponent(asText(values[name] ?? "").toWellFormed()),
    )
    if (filled !== segment && (filled === "" || hasDotSegment(filled))) {
      const what = filled === "" ? "is empty" : `is \`${filled}\``
      return { problem: `A segment of the path ${what}: ${segment} needs another value` }
    }
    segments.push(filled)
  }
  return segments.join("/")
}

function queryTexts(value: JsonValue): string[] {
  if (value === null) return []
  return Array.isArray(value) ? value.map(asText) : [asText(value)]
}

/** Encodes a text as forms do. */
function inQuery(text: string): string {
  const encoded = encodeURIComponent(text.toWellFormed()).replaceAll("%20", "+")
  return encoded.replaceAll(/[!'()~]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`)
}

/** Strings as they are, other values as JSON. */
function asText(value: JsonValue): string {
  return typeof value === "string" ? value : JSON.stringify(withoutNulls(value))
}

/** Without the fields that are null, at every level. Elements of arrays keep their places. */
function withoutNulls(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(withoutNulls)
  if (typeof value !== "object" || value === null) return value
  const left: JsonObject = {}
  for (const [name, field] of Object.entries(value)) if (field !== null) define(left, name, withoutNulls(field))
  return left
}

/** `__proto__` is a name like any other here. */
function define(target: JsonObject, name: string, value: JsonValue): void {
  Object.defineProperty(target, name, { value, enumerable: true, configurable: true, writable: true })
}
