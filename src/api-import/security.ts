import { isJsonObject } from "../base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../base/json-value.ts"
import { quoteText } from "../source/quote-text.ts"
import { keyText } from "./print-types.ts"
import type { Schemas } from "./schemas.ts"

export interface ImportedSecurity {
  /** Names of the schemes that callers sign in with together; none without a sign-in. */
  readonly schemes: readonly string[]
  /** Names of secrets. */
  readonly secrets: readonly string[]
  /** Lines of `headers { }`. */
  readonly headers: readonly string[]
  /** Lines of `auth { }`; null without one. */
  readonly auth: readonly string[] | null
  readonly left: readonly string[]
}

/** How callers say who they are: the first way that the document demands, with secrets in place of values. */
export function securityOf(
  document: JsonObject,
  operations: readonly JsonObject[],
  schemas: Schemas,
): ImportedSecurity {
  const [demand] = [document["security"], ...operations.map((one) => one["security"])].flatMap((list) =>
    Array.isArray(list) ? list.filter((one) => isJsonObject(one) && Object.keys(one).length > 0) : [],
  )
  const components = isJsonObject(document["components"]) ? document["components"] : {}
  const schemes = isJsonObject(components["securitySchemes"]) ? components["securitySchemes"] : {}
  const secrets: string[] = []
  const headers: string[] = []
  let auth: string[] | null = null
  const left: string[] = []
  /** Headers in lower case. */
  const taken = new Set<string>()
  const hasAuthorization = (): boolean => taken.has("authorization")
  const secret = (name: string): string => {
    if (!secrets.includes(name)) secrets.push(name)
    return name
  }
  const demanded = Object.keys(isJsonObject(demand) ? demand : {})
  for (const name of demanded) {
    const scheme = schemas.resolve(Object.hasOwn(schemes, name) ? schemes[name] : undefined)
    const { type, in: place, name: header, scheme: kind } = isJsonObject(scheme) ? scheme : {}
    const word = text(kind).toLowerCase()
    if (type === "apiKey" && place === "header" && isHeader(text(header))) {
      const key = text(header).toLowerCase()
      if (taken.has(key)) left.push(`The sign-in ${name}: another one sets its header already`)
      else
        headers.push(
          `${headerText(text(header))}: secrets.${secret(taken.size === 0 ? "api_key" : `api_key_${taken.size + 1}`)}`,
        )
      taken.add(key)
    } else if (hasAuthorization()) left.push(`The sign-in ${name}: another one sets Authorization already`)
    else if (type === "oauth2" && credentialsFlow(scheme) !== null) {
      taken.add("authorization")
      const { tokenUrl, scopes } = credentialsFlow(scheme) ?? { tokenUrl: "", scopes: [] }
      auth = [
        `token_endpoint: ${quoteText(tokenUrl)}`,
        `client_id: secrets.${secret("client_id")}`,
        `client_secret: secrets.${secret("client_secret")}`,
        ...(scopes.length === 0 ? [] : [`scopes: [${scopes.map((scope) => quoteText(scope)).join(", ")}]`]),
      ]
    } else if (type === "http" && word === "basic") {
      taken.add("authorization")
      headers.push(
        `// The Base64 of user:password\nAuthorization: "Basic {{ secrets.${secret("basic_credentials")} }}"`,
      )
    } else if ((type === "http" && word === "bearer") || type === "oauth2" || type === "openIdConnect") {
      taken.add("authorization")
      headers.push(`Authorization: "Bearer {{ secrets.${secret("access_token")} }}"`)
    } else left.push(`The sign-in ${name}: only headers are sent`)
  }
  return { schemes: demanded, secrets, headers, auth, left }
}

/** A sentence about an operation that has another sign-in than the api, which all tools use. */
export function otherSignIn(document: JsonObject, operation: JsonObject, security: ImportedSecurity): string[] {
  const list = operation["security"] ?? document["security"]
  const ways = (Array.isArray(list) ? list : []).filter(isJsonObject).map((way) => Object.keys(way))
  const isSame = (way: readonly string[]): boolean =>
    way.length === security.schemes.length && way.every((name) => security.schemes.includes(name))
  if (ways.some(isSame)) return []
  const [own] = ways
  if (own !== undefined && ways.every((way) => way.length > 0)) {
    return [`The sign-in ${own.join(" and ")}: all tools of an api sign in alike`]
  }
  if (security.secrets.length === 0) return []
  return ["That it needs no sign-in: the secrets of the api are sent all the same"]
}

/** The flow of client credentials, where its address can be written. */
function credentialsFlow(
  scheme: JsonValue | undefined,
): { readonly tokenUrl: string; readonly scopes: string[] } | null {
  const flows = isJsonObject(scheme) ? scheme["flows"] : undefined
  const flow = isJsonObject(flows) ? flows["clientCredentials"] : undefined
  const tokenUrl = isJsonObject(flow) ? text(flow["tokenUrl"]) : ""
  if (!isJsonObject(flow) || URL.parse(tokenUrl)?.protocol !== "https:") return null
  const scopes = isJsonObject(flow["scopes"]) ? Object.keys(flow["scopes"]) : []
  return { tokenUrl, scopes: scopes.slice(0, 50) }
}

function text(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : ""
}

/** Names of headers may have dashes without quotes. */
function headerText(name: string): string {
  return /^[A-Za-z_][\w-]*$/.test(name) ? name : keyText(name)
}

function isHeader(name: string): boolean {
  const isFraming = /^(?:host|content-length|transfer-encoding|connection|cookie)$/i.test(name)
  return !isFraming && /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(name) && name !== "__proto__"
}
