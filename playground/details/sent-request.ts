import { buildRequest } from "../../src/adapters/http-tools/build-request.ts"
import { isJsonObject } from "../../src/base/is-json-object.ts"
import type { JsonObject } from "../../src/base/json-value.ts"
import { escapeHidden } from "../../src/base/visible-text.ts"
import type { Span } from "../../src/log/run-state.ts"
import type { Expression } from "../../src/plan/expression.ts"
import type { Plan } from "../../src/plan/plan-shape.ts"

/** What a call of an api sent, as far as it follows from the source and the arguments. Secrets are names. */
export interface SentRequest {
  /** `GET /contacts/c1?fields=name` */
  readonly line: string
  readonly body: string | null
  /** A command that sends it again; secrets are variables. */
  readonly curl: string
}

/** Stands for the endpoint while the request is built. */
const placeholder = "http://endpoint.invalid"

export function sentRequest(plan: Plan | null, input: JsonObject, span: Span): SentRequest | null {
  const tool = plan?.tools[span.name]
  const api = plan?.apis?.[tool?.server ?? ""]
  if (tool?.http === undefined || api === undefined || !isJsonObject(span.arguments)) return null
  const built = buildRequest(tool.http, placeholder, span.arguments)
  if ("problem" in built) return null
  const { method } = tool.http
  const rest = built.url.slice(placeholder.length)
  const known = textOf(api.endpoint, input)
  const endpoint = known === null || known === "demo" ? variable(`${tool.server}_endpoint`) : withoutSlash(known)
  const headers: [string, string][] = [
    ...(built.body === null ? [] : [["Content-Type", "application/json"] as [string, string]]),
    ...api.headers.map(({ key, value }): [string, string] => [key, textOf(value, input) ?? variable(key)]),
    ...(api.auth === undefined ? [] : [["Authorization", `Bearer ${variable("access_token")}`] as [string, string]]),
    ...Object.entries(built.headers),
  ]
  const parts = [
    `curl -X ${method} ${quoted(`${endpoint}${rest}`)}`,
    ...headers.map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
    ...(built.body === null ? [] : [`--data-raw ${quoted(visibleBody(built.body))}`]),
  ]
  return { line: `${method} ${rest}`, body: built.body, curl: parts.join(" \\\n  ") }
}

function withoutSlash(endpoint: string): string {
  return endpoint.endsWith("/") ? endpoint.slice(0, -1) : endpoint
}

/** The form in which events show a secret; `quoted` makes a shell variable of it. */
function variable(name: string): string {
  return `[secret:${name}]`
}

/** The text that an expression gives, secrets by name; null where it is not known here. */
function textOf(expression: Expression, input: JsonObject): string | null {
  switch (expression.op) {
    case "literal":
      return typeof expression.value === "string" ? expression.value : null
    case "text": {
      const parts = expression.parts.map((part) => (typeof part === "string" ? part : textOf(part, input)))
      return parts.includes(null) ? null : parts.join("")
    }
    case "reference":
    case "chain": {
      const [, root = "", name = ""] = /^(secrets|input)\.(\w+)$/.exec(expression.text) ?? []
      if (root === "secrets") return variable(name)
      const value = root === "input" ? input[name] : undefined
      return typeof value === "string" ? value : null
    }
    default:
      return null
  }
}

/** The same JSON, in characters that can be seen. */
function visibleBody(body: string): string {
  return escapeHidden(body, (code, character) => {
    const units = code > 0xffff ? [...Array(character.length).keys()] : [0]
    return units.map((at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, "0")}`).join("")
  })
}

/** For a shell, in double quotes: nothing in it is run, and secrets are variables. */
function quoted(text: string): string {
  const escaped = text.replaceAll(/[\\"$`]/g, "\\$&")
  const named = escaped.replaceAll(/(?:\[secret:|%5Bsecret%3A)([\w-]+)(?:\]|%5D)/g, (_, name: string) => {
    return `\${${name.toUpperCase().replaceAll("-", "_")}}`
  })
  return `"${named}"`
}
