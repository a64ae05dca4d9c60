import { isJsonObject } from "../base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../base/json-value.ts"
import { importOperations, sourceBytes } from "../base/limits.ts"
import { compile } from "../compile.ts"
import { isError } from "../source/diagnostic.ts"
import { quoteText } from "../source/quote-text.ts"
import { formatText } from "../syntax/format.ts"
import { commentLines, docLines } from "./comment-lines.ts"
import { canBeTool, Operations, operationsOf, type ImportedOperation, type LeftOut } from "./operations.ts"
import { fieldsText, keyText, usedSchemas, withoutCircles } from "./print-types.ts"
import { Schemas } from "./schemas.ts"
import { otherSignIn, securityOf, type ImportedSecurity } from "./security.ts"
import { hasDotSegment } from "../base/has-dot-segment.ts"

export interface ImportOptions {
  /** What the api is called. */
  readonly as: string
  /** Patterns of operation ids, with `*` for any text; empty for all. */
  readonly only: readonly string[]
}

export type ApiImport =
  | { readonly text: string; readonly tools: number; readonly left: number }
  | { readonly problem: string }

/**
 * Declarations of an API and its operations. All names and texts are a stranger's: they are escaped, and what is written is compiled; a
 * tool that does not compile is left out.
 */
export function importApi(document: JsonObject, { as, only }: ImportOptions): ApiImport {
  const notes: string[] = []
  const schemas = new Schemas(document, (what) => notes.push(what))
  const { operations: all, unreadable } = operationsOf(document, schemas)
  const chosen = only.length === 0 ? all : all.filter(({ id }) => only.some((pattern) => matches(pattern, id)))
  if (all.length === 0) return { problem: "The document has no operations." }
  if (chosen.length === 0) return { problem: `No operation is called ${only.join(" or ")}.` }
  const possible = all.filter(canBeTool)
  if (only.length === 0 && possible.length > importOperations) {
    const example = possible
      .slice(0, 3)
      .map(({ id }) => id)
      .join(",")
    return {
      problem: `The document has ${possible.length} operations: name those that you need, up to ${importOperations}, such as --only '${example}'.`,
    }
  }
  const operations = new Operations(schemas, notes)
  let imported: ImportedOperation[] = []
  const left: LeftOut[] = only.length === 0 ? [...unreadable] : []
  const security = securityOf(
    document,
    chosen.map(({ body }) => body),
    schemas,
  )
  for (const operation of chosen) {
    const outcome = operations.import(operation)
    if ("why" in outcome) left.push(outcome)
    else imported.push({ ...outcome, left: [...outcome.left, ...otherSignIn(document, operation.body, security)] })
  }
  withoutCircles(schemas.declared)
  // What does not compile is left out, until all of it does.
  for (;;) {
    const text = printed(document, as, schemas, imported, security, left)
    if (text.length > sourceBytes) {
      return {
        problem:
          "The declarations would be larger than a workflow may be: name the operations that you need with --only.",
      }
    }
    const formatted = formatText(text)
    const wrong = new Map<string, string>()
    if ("formatted" in formatted) {
      for (const one of compile(formatted.formatted).diagnostics.filter(isError)) wrong.set(one.path, one.message)
      if (wrong.size === 0) {
        const count = left.length + security.left.length + imported.reduce((sum, one) => sum + one.left.length, 0)
        return { text: formatted.formatted, tools: imported.length, left: count }
      }
    }
    const bad = imported.filter(({ name }) => [...wrong.keys()].some((path) => isBelow(path, `tool.${name}`)))
    // A mistake that belongs to no tool: the last one goes, and takes its schemas with it.
    const gone = new Set(bad.length > 0 ? bad : imported.slice(-1))
    if (gone.size === 0) return { problem: "The document cannot be written as declarations." }
    for (const { route, name } of gone) {
      const message = [...wrong].find(([path]) => isBelow(path, `tool.${name}`))?.[1]
      left.push({ route, why: message ?? "it cannot be declared" })
    }
    imported = imported.filter((one) => !gone.has(one))
  }
}

function isBelow(path: string, name: string): boolean {
  return path === name || path.startsWith(`${name}.`)
}

function matches(pattern: string, id: string): boolean {
  const parts = pattern.split("*").map((part) => part.replaceAll(/[\\^$.|?+()[\]{}]/g, "\\$&"))
  return new RegExp(`^${parts.join(".*")}$`, "s").test(id)
}

function printed(
  document: JsonObject,
  as: string,
  schemas: Schemas,
  imported: readonly ImportedOperation[],
  security: ImportedSecurity,
  left: readonly LeftOut[],
): string {
  const { info, servers } = document
  const title = isJsonObject(info) && typeof info["title"] === "string" ? info["title"] : "an OpenAPI document"
  const apis = new Apis(as, serverOf(servers))
  const tools = imported.map((one) => toolText(one, apis.of(one)))
  const roots = imported.flatMap(({ input, output }) => [...input, ...(output ?? [])])
  const declared = usedSchemas(schemas.declared, roots).map(({ name, fields, doc }) => {
    return `${docLines(doc, 3)}schema ${name} {\n${fieldsText(fields)}\n}`
  })
  const secrets =
    security.secrets.length === 0
      ? []
      : [`secrets {\n${security.secrets.map((name) => `${name}: string`).join("\n")}\n}`]
  const notes = [
    ...security.left.map((what) => commentLines(`Left out: ${what}.`)),
    ...left.map(({ route, why }) => commentLines(`Left out: ${route}: ${why}.`)),
  ]
  const head = commentLines(`The API of ${title.slice(0, 100)}, made by \`wire api import\`.`)
  return [`${head}${notes.join("")}`, ...secrets, ...apis.texts(security), ...declared, ...tools].join("\n\n")
}

/** One declaration for each address. */
class Apis {
  readonly #first: string
  readonly #servers = new Map<string, { readonly name: string; readonly server: ImportedServer }>()

  constructor(first: string, server: ImportedServer) {
    this.#first = first
    this.#servers.set(server.endpoint, { name: first, server })
  }

  of({ servers }: ImportedOperation): string {
    if (servers === undefined) return this.#first
    const server = serverOf(servers)
    const known = this.#servers.get(server.endpoint)
    if (known !== undefined) return known.name
    const name = `${this.#first}_${this.#servers.size + 1}`
    this.#servers.set(server.endpoint, { name, server })
    return name
  }

  texts({ headers, auth }: ImportedSecurity): string[] {
    const sent = headers.length === 0 ? "" : `\nheaders {\n${headers.join("\n")}\n}\n`
    const block = auth === null ? sent : `${sent}\nauth {\n${auth.join("\n")}\n}\n`
    return [...this.#servers.values()].map(({ name, server: { endpoint, comment } }) => {
      const note = comment === null ? "" : `// ${comment}\n`
      return `api ${name} {\n${note}endpoint: ${quoteText(endpoint)}\n${block}}`
    })
  }
}

function toolText(operation: ImportedOperation, api: string): string {
  const { name, route, summary, description, input, send, output, left } = operation
  const sent = send.map(([field, to, header]) => {
    return `${keyText(field)}: ${to}${header === undefined ? "" : ` ${quoteText(header)}`}`
  })
  const blocks = [
    ...(description === undefined ? [] : [`description: ${quoteText(shortened(description))}`]),
    ...(input.length === 0 ? [] : [`input {\n${fieldsText(input)}\n}`]),
    ...(output === null ? [] : [`output {\n${fieldsText(output)}\n}`]),
    ...(sent.length === 0 ? [] : [`send {\n${sent.join("\n")}\n}`]),
  ]
  const notes = left.map((what) => commentLines(`Left out: ${what}.`)).join("")
  return `${notes}${docLines(summary, 3)}tool ${name} from api.${api}.${quoteText(route)} {\n${blocks.join("\n\n")}\n}`
}

/** The first paragraph says what a model needs. */
function shortened(text: string): string {
  const [first = ""] = text.trim().split(/\n\s*\n/)
  return first.replaceAll(/\s+/g, " ").slice(0, 500)
}

interface ImportedServer {
  readonly endpoint: string
  /** What the author has to look at. */
  readonly comment: string | null
}

const placeholder = "https://api.example.com"

/** The first server of a list, as an address that is written out. */
function serverOf(servers: JsonValue | undefined): ImportedServer {
  const [first] = Array.isArray(servers) ? servers : []
  const url = isJsonObject(first) && typeof first["url"] === "string" ? first["url"].trim() : ""
  if (url === "") return { endpoint: placeholder, comment: "The document names no server: put its address here." }
  const variables = isJsonObject(first) && isJsonObject(first["variables"]) ? first["variables"] : {}
  const filled = url.replaceAll(/\{([^{}]*)\}/g, (whole, name: string) => {
    const variable = Object.hasOwn(variables, name) ? variables[name] : undefined
    const value = isJsonObject(variable) ? variable["default"] : undefined
    return typeof value === "string" ? value : whole.slice(1, -1)
  })
  const isTemplate = filled !== url
  const isRelative = filled.startsWith("/") && !filled.startsWith("//")
  const parsed = URL.parse(isRelative ? `${placeholder}${filled}` : filled)
  const isPlain =
    parsed !== null &&
    /^https?:$/.test(parsed.protocol) &&
    parsed.username === "" &&
    parsed.password === "" &&
    parsed.search === "" &&
    parsed.hash === "" &&
    !hasDotSegment(filled)
  if (!isPlain)
    return { endpoint: placeholder, comment: "The document names no address that can be called: put one here." }
  const endpoint = parsed.href.endsWith("/") ? parsed.href.slice(0, -1) : parsed.href
  if (isRelative) return { endpoint, comment: "The document gives a path without a host: put the host here." }
  return {
    endpoint,
    comment: isTemplate ? "The document has variables in this address: these are their defaults." : null,
  }
}
