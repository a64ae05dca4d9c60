import { withoutTrailing } from "../../base/without-trailing.ts"
import { cutText } from "../../base/cut-text.ts"
import { isIdentifier } from "../../base/identifier.ts"
import { isJsonObject } from "../../base/is-json-object.ts"
import { jsonEqual } from "../../base/json-equal.ts"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import { visibleText } from "../../base/visible-text.ts"
import { compile } from "../../compile.ts"
import type { Plan } from "../../plan/plan-shape.ts"
import { isError, type Diagnostic } from "../../source/diagnostic.ts"
import { quoteText } from "../../source/quote-text.ts"
import { formatText } from "../../syntax/format.ts"
import { equivalent } from "../../types/relations.ts"
import { showType } from "../../types/show-type.ts"
import type { Type } from "../../types/types.ts"
import type { ServerContents } from "../compose/compose-runs.ts"

export interface ImportOptions {
  /** The name for the server. */
  readonly name: string
  readonly endpoint: string
  /** Headers that were sent: their values become secrets. */
  readonly headers: readonly string[]
}

export interface Imports {
  /** Declarations to paste into a workflow; null where the server itself cannot be declared. */
  readonly text: string | null
  /** What cannot be declared, and why: sentences. */
  readonly problems: readonly string[]
}

type RemoteKind = "tool" | "resource" | "prompt"

/** One thing that a server offers, as it is to be declared. */
interface Import {
  readonly kind: RemoteKind
  readonly name: string
  /** What the server calls it. */
  readonly remote: string
  /** Lines above the declaration. */
  readonly comments: readonly string[]
  readonly output: DeclaredOutput | null
  readonly pin: string | null
}

/** An output block, and the type that it is read as. */
interface DeclaredOutput {
  readonly text: string
  readonly type: Type
}

/**
 * Declarations of the server and everything that it offers. All names and texts are the server's: what is written is read again,
 * and must declare what is meant and nothing else.
 */
export function importsText(contents: ServerContents, options: ImportOptions): Imports {
  const head = headText(options)
  const problems = compile(head).diagnostics.filter(isError).map(sentenceOf)
  if (problems.length > 0) return { text: null, problems }
  const server = new Declared(options.name)
  const { kept = [], left = [] } = Object.groupBy(importsOf(contents), (one) =>
    server.declares(`${server.head}\n${textOf(one, options.name)}`, server.head, [one]) ? "kept" : "left",
  )
  const formatted = formatText([head, ...kept.map((one) => textOf(one, options.name))].join("\n\n"))
  if (!("formatted" in formatted) || !server.declares(formatted.formatted, head, kept)) {
    throw new Error("The declarations are read as others than were written")
  }
  return {
    text: formatted.formatted,
    problems: left.map(({ kind, remote }) => {
      return `Not declared: ${kind} ${cutText(quoteText(remote), 100)}, which has no name that a workflow can use.`
    }),
  }
}

function sentenceOf({ path, message, hint = "" }: Diagnostic): string {
  return visibleText(`${path}: ${message}. ${hint}`.trim())
}

export function shownArgument({ name, required }: { readonly name: string; readonly required: boolean }): string {
  return required ? name : `${name}?`
}

// -------------------------------------------------------------------------------------------------- what is written

/** The server, with the caller's own words alone. */
function headText({ name, endpoint, headers }: ImportOptions): string {
  const names = new Names()
  const secrets = headers.map((header) => [header, names.of("secret", header)] as const)
  const server = `mcp ${name} {\nendpoint: ${quoteText(endpoint)}\n`
  if (secrets.length === 0) return `${server}}`
  const declared = secrets.map(([, secret]) => `${secret}: string`).join("\n")
  const sent = secrets.map(([header, secret]) => `${keyText(header)}: secrets.${secret}`).join("\n")
  return `secrets {\n${declared}\n}\n\n${server}\nheaders {\n${sent}\n}\n}`
}

function importsOf({ tools, resources, prompts }: ServerContents): Import[] {
  const names = new Names()
  return [
    ...tools.map(({ name, description, output, pin }): Import => {
      const comments = comment(description)
      return { kind: "tool", name: names.of("tool", name), remote: name, comments, output: outputOf(output), pin }
    }),
    ...resources.map(({ name, uri, description, template }): Import => {
      // Names of resources need not be unique, and addresses of templates are hard to read.
      const remote = template && name !== "" ? name : uri
      const own = names.of("resource", name === "" ? uri : name)
      return { kind: "resource", name: own, remote, comments: comment(description), output: null, pin: null }
    }),
    ...prompts.map(({ name, description, arguments: taken }): Import => {
      const takes = taken.length === 0 ? [] : [line(`Takes ${taken.map(shownArgument).join(", ")}.`, 300)]
      const comments = [...comment(description), ...takes]
      return { kind: "prompt", name: names.of("prompt", name), remote: name, comments, output: null, pin: null }
    }),
  ]
}

function textOf({ kind, name, remote, comments, output, pin }: Import, server: string): string {
  const head = `${kind} ${name} from mcp.${server}.${kind}.${keyText(remote)}`
  const body = [...(output === null ? [] : [`output ${output.text}`]), ...(pin === null ? [] : [`pin: "${pin}"`])]
  return [...comments, body.length === 0 ? head : `${head} {\n${body.join("\n")}\n}`].join("\n")
}

/** Names that are free, of each kind. */
class Names {
  readonly #taken = new Set<string>()

  of(kind: RemoteKind | "secret", remote: string): string {
    const words = remote.replaceAll(/[^A-Za-z0-9]+/g, "_")
    const plain = withoutTrailing(words.replace(/^_+/, ""), "_").slice(0, 60).toLowerCase()
    const base = isIdentifier(plain) ? plain : `${kind}_${plain}`.replace(/_$/, "")
    let free = base
    for (let count = 2; this.#taken.has(`${kind}.${free}`); count++) free = `${base}_${count}`
    this.#taken.add(`${kind}.${free}`)
    return free
  }
}

function keyText(remote: string): string {
  return /^[A-Za-z_][A-Za-z0-9_-]*$/.test(remote) ? remote : quoteText(remote)
}

/** The first line of a text that says something. */
function comment(text: string): string[] {
  const first = text.split(/[\n\r]/).find((each) => each.trim() !== "")
  return first === undefined ? [] : [line(first, 100)]
}

function line(text: string, most: number): string {
  return `// ${cutText(visibleText(text).trim(), most)}`
}

// ------------------------------------------------------------------------------------------------- what is read again

/** Compares what a text declares with what is meant: the server, these imports, and nothing else. */
class Declared {
  readonly head: string
  readonly #server: string
  /** How one import of each kind is planned. */
  readonly #blank: Plan

  constructor(server: string) {
    this.#server = server
    this.head = `mcp ${server} { endpoint: "http://x.example" }`
    const each = (["tool", "resource", "prompt"] as const).map((kind) => `${kind} x from mcp.${server}.${kind}.x`)
    this.#blank = read([this.head, ...each].join("\n")).plan ?? never()
  }

  declares(text: string, head: string, imports: readonly Import[]): boolean {
    const found = read(text)
    const alone = read(head)
    const { tools, resources, prompts } = this.#blank
    const planned = (kind: RemoteKind, blank: object | undefined): object =>
      Object.fromEntries(imports.filter((one) => one.kind === kind).map((one) => [one.name, this.#planOf(one, blank)]))
    const meant = {
      ...alone.plan,
      tools: planned("tool", tools["x"]),
      resources: planned("resource", resources["x"]),
      prompts: planned("prompt", prompts["x"]),
    }
    return found.count === alone.count + imports.length && jsonEqual(asJson(found.plan), asJson(meant))
  }

  #planOf({ kind, remote, output, pin }: Import, blank: object | undefined): object {
    const own = kind === "tool" ? { output: output?.type ?? null, pin } : {}
    return { ...blank, server: this.#server, remote, ...own }
  }
}

/** The plan of a text without errors, and how many declarations it has. */
function read(text: string): { readonly plan: Plan | null; readonly count: number } {
  const { plan, program } = compile(text)
  return { plan: plan ?? null, count: program.tree.declarations.length }
}

function never(): never {
  throw new Error("A server with one import of each kind has no plan")
}

function asJson(value: object | null): JsonValue {
  return JSON.parse(JSON.stringify(value)) as JsonValue
}

/** The block that declares an output of this schema; null where no type says the same. */
function outputOf(schema: JsonObject | null): DeclaredOutput | null {
  const type = schema === null ? null : typeOf(schema, 0)
  if (type?.kind !== "record" || type.fields.length === 0) return null
  const text = showType(type, 2000)
  if (text.includes("…")) return null
  // What the types cannot be written as (odd names) is left to the server's own schema.
  const { plan, count } = read(`mcp s { endpoint: "http://x" }\ntool t from mcp.s.tool.t { output ${text} }`)
  const found = count === 2 ? plan?.tools["t"]?.output : null
  return found === null || found === undefined || !equivalent(found, type, {}) ? null : { text, type: found }
}

function typeOf(schema: JsonValue | undefined, depth: number): Type | null {
  if (!isJsonObject(schema) || depth > 6) return null
  const { type, enum: values, anyOf } = schema
  if (Array.isArray(values)) {
    const texts = values.filter((value) => typeof value === "string")
    return texts.length === values.length && texts.length > 0 ? { kind: "enum", values: texts } : null
  }
  if (Array.isArray(anyOf)) {
    const members = anyOf.map((member) => typeOf(member, depth + 1)).filter((member) => member !== null)
    return members.length === anyOf.length && members.length > 1 ? { kind: "union", members } : null
  }
  switch (type) {
    case "string":
    case "number":
    case "integer":
    case "boolean":
    case "null":
      return { kind: type }
    case "array": {
      const element = typeOf(schema["items"], depth + 1)
      return element === null ? null : { kind: "array", element }
    }
    case "object":
      return recordOf(schema, depth)
    default:
      return null
  }
}

/** A record has every field, and no other. */
function recordOf(schema: JsonObject, depth: number): Type | null {
  const { properties, required, additionalProperties } = schema
  if (!isJsonObject(properties) || !Array.isArray(required)) return null
  if (additionalProperties !== undefined && additionalProperties !== false) return null
  const fields = Object.entries(properties).map(([name, inner]) => ({ name, type: typeOf(inner, depth + 1) }))
  if (fields.some(({ name, type }) => type === null || !required.includes(name))) return null
  return { kind: "record", fields: fields.flatMap(({ name, type }) => (type === null ? [] : [{ name, type }])) }
}
