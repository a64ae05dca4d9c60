import type { InputRequiredResult } from "@modelcontextprotocol/client"
import { Buffer } from "node:buffer"
import { isJsonObject } from "../../base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import {
  mcpAskBytes,
  mcpAskEntries,
  mcpAskFields,
  mcpPartDescription,
  mcpStateBytes,
  mcpToolDescription,
} from "../../base/limits.ts"
import type { ServerAsk, ServerQuestion } from "../../ports/tools.ts"
import { cleanLine, cleanText } from "./clean-text.ts"

/** What a server that answered `input_required` asks. Throws where people cannot be asked that. */
export function readInputRequests({ inputRequests, requestState }: InputRequiredResult): ServerAsk {
  const requests = Object.entries(inputRequests ?? {})
  if (requests.length > mcpAskEntries) {
    throw new Error(`The server asks ${requests.length} questions at a time, and may ask ${mcpAskEntries}`)
  }
  if (requestState !== undefined && Buffer.byteLength(requestState) > mcpStateBytes) {
    throw new Error(`The server's state has more than ${mcpStateBytes} bytes`)
  }
  if (requests.length === 0 && requestState === undefined) throw new Error("The server asks for nothing")
  const entries = requests.map(([key, request]) => questionOf(key, request))
  if (Buffer.byteLength(JSON.stringify(entries)) > mcpAskBytes) {
    throw new Error(`The server's questions have more than ${mcpAskBytes} bytes`)
  }
  return { entries, state: requestState ?? null }
}

function questionOf(key: string, request: unknown): ServerQuestion {
  const { method, params } = (request ?? {}) as { readonly method?: unknown; readonly params?: unknown }
  if (method !== "elicitation/create" || !isJsonObject(params)) {
    throw new Error(`The server asks for ${cleanLine(String(method), 64)}, which this service does not offer`)
  }
  const message = cleanText(textIn(params, "message") ?? "", mcpToolDescription)
  if (params["mode"] === "url") return { key, message, schema: null, url: addressIn(params) }
  const { requestedSchema } = params
  if (!isJsonObject(requestedSchema)) throw new Error("The server asks without saying for what")
  return { key, message, schema: formSchema(requestedSchema), url: null }
}

/** Only what a person may open in a browser. */
function addressIn(params: JsonObject): string {
  const url = URL.parse(textIn(params, "url") ?? "")
  if (url === null || (url.protocol !== "https:" && url.protocol !== "http:")) {
    throw new Error("The server wants an address opened that is not a web address")
  }
  return url.href
}

/** Keywords that a person's answer is held to, or that help to give it; the others of a stranger's schema are left out. */
const numbers = ["minLength", "maxLength", "minimum", "maximum", "minItems", "maxItems"]
const texts = ["title", "description"]
const plainTypes = ["string", "number", "integer", "boolean"]

function formSchema({ properties, required }: JsonObject): JsonObject {
  const fields = Object.entries(isJsonObject(properties) ? properties : {})
  if (fields.length > mcpAskFields) {
    throw new Error(`The server asks for ${fields.length} fields, and may ask for ${mcpAskFields}`)
  }
  const read = fields.map(([name, field]): [string, JsonObject] => [name, fieldSchema(field)])
  return {
    type: "object",
    properties: Object.fromEntries(read),
    required: Array.isArray(required) ? required.filter((name) => fields.some(([field]) => field === name)) : [],
    additionalProperties: false,
  }
}

function fieldSchema(field: JsonValue): JsonObject {
  const { type, format, default: usual } = isJsonObject(field) ? field : {}
  if (!isJsonObject(field) || typeof type !== "string" || !(plainTypes.includes(type) || type === "array")) {
    throw new Error("The server asks for a field that is not a string, a number, a boolean or a choice")
  }
  const schema: JsonObject = { type }
  for (const key of texts) {
    const text = textIn(field, key)
    if (text !== undefined) schema[key] = cleanText(text, mcpPartDescription)
  }
  for (const key of numbers) if (typeof field[key] === "number") schema[key] = field[key]
  if (typeof format === "string") schema["format"] = cleanLine(format, 64)
  if (isPlain(usual) || (Array.isArray(usual) && usual.every(isPlain))) schema["default"] = usual
  if (type !== "array") return { ...schema, ...choicesOf(field, "oneOf") }
  const choices = isJsonObject(field["items"]) ? choicesOf(field["items"], "anyOf") : {}
  if (Object.keys(choices).length === 0) throw new Error("The server asks for an array of something else than choices")
  return { ...schema, items: { type: "string", ...choices } }
}

/** `enum`, with the titles that `oneOf`, `anyOf` or `enumNames` give. */
function choicesOf(field: JsonObject, titled: "oneOf" | "anyOf"): JsonObject {
  const { enum: values, enumNames } = field
  const rows = field[titled]
  if (Array.isArray(rows)) {
    const known = rows.filter(isJsonObject).flatMap(({ const: value, title }) => {
      return typeof value === "string" ? [{ value, title: typeof title === "string" ? title : value }] : []
    })
    return { enum: known.map(({ value }) => value), enumNames: known.map(({ title }) => cleanLine(title, 200)) }
  }
  if (!Array.isArray(values)) return {}
  const names = Array.isArray(enumNames) ? enumNames.filter((name) => typeof name === "string") : []
  return {
    enum: values.filter((value) => typeof value === "string"),
    ...(names.length === values.length ? { enumNames: names.map((name) => cleanLine(name, 200)) } : {}),
  }
}

/** A default of another kind fits no field. */
function isPlain(value: JsonValue | undefined): value is string | number | boolean {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean"
}

function textIn(object: JsonObject, key: string): string | undefined {
  const value = object[key]
  return typeof value === "string" ? value : undefined
}
