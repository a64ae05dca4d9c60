import { withoutTrailing } from "../base/without-trailing.ts"
import { cutText } from "../base/cut-text.ts"
import { isIdentifier } from "../base/identifier.ts"
import { isJsonObject } from "../base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../base/json-value.ts"
import { showType } from "../types/show-type.ts"
import type { Type } from "../types/types.ts"
import { compile } from "../compile.ts"
import { formatText } from "../syntax/format.ts"
import type { ServerContents } from "./compose-runs.ts"
import { isError } from "../source/diagnostic.ts"

export interface ImportOptions {
  /** The name for the server. */
  readonly name: string
  readonly endpoint: string
  /** Headers that were sent: their values become secrets. */
  readonly headers: readonly string[]
}

/** Declarations to paste into a workflow: the server, and everything that it offers. */
export function importsText(contents: ServerContents, options: ImportOptions): string {
  const { name, headers } = options
  const secrets = headers.map((header) => [header, secretName(header)] as const)
  const names = new Names()
  const parts = [
    secrets.length === 0 ? "" : `secrets {\n${secrets.map(([, secret]) => `${secret}: string`).join("\n")}\n}`,
    `mcp ${name} {
      endpoint: ${quoted(options.endpoint)}
      ${secrets.length === 0 ? "" : `\nheaders {\n${secrets.map(([header, secret]) => `${header}: secrets.${secret}`).join("\n")}\n}`}
    }`,
    ...contents.tools.map(({ name: remote, description, output, pin }) => {
      const declared = output === null ? null : outputText(output)
      const head = `${comment(description)}tool ${names.of("tool", remote)} from mcp.${name}.tool.${remoteText(remote)}`
      return `${head} {\n${declared === null ? "" : `output ${declared}\n`}pin: "${pin}"\n}`
    }),
    ...contents.resources.map(({ name: called, uri, description, template }) => {
      // Names of resources need not be unique, and addresses of templates are hard to read.
      const remote = template && called !== "" ? called : uri
      return `${comment(description)}resource ${names.of("resource", called === "" ? uri : called)} from mcp.${name}.resource.${remoteText(remote)}`
    }),
    ...contents.prompts.map(({ name: remote, description, arguments: taken }) => {
      const about = taken.length === 0 ? "" : `// Takes ${taken.map(shownArgument).join(", ")}.\n`
      return `${comment(description)}${about}prompt ${names.of("prompt", remote)} from mcp.${name}.prompt.${remoteText(remote)}`
    }),
  ]
  const text = `${parts.filter((part) => part !== "").join("\n\n")}\n`
  const formatted = formatText(text)
  return "formatted" in formatted ? formatted.formatted : text
}

export function shownArgument({ name, required }: { readonly name: string; readonly required: boolean }): string {
  return required ? name : `${name}?`
}

/** Names that are free, of each kind. */
class Names {
  readonly #taken = new Set<string>()

  of(kind: string, remote: string): string {
    const words = remote.replaceAll(/[^A-Za-z0-9]+/g, "_")
    const plain = withoutTrailing(words.replace(/^_+/, ""), "_").slice(0, 60).toLowerCase()
    const base = isIdentifier(plain) ? plain : `${kind}_${plain}`.replace(/_$/, "")
    let free = base
    for (let count = 2; this.#taken.has(`${kind}.${free}`); count++) free = `${base}_${count}`
    this.#taken.add(`${kind}.${free}`)
    return free
  }
}

function remoteText(remote: string): string {
  return /^[A-Za-z_][A-Za-z0-9_-]*$/.test(remote) ? remote : quoted(remote)
}

function secretName(header: string): string {
  return header.toLowerCase().replaceAll(/[^a-z0-9]+/g, "_")
}

function comment(text: string): string {
  const [line = ""] = text.split("\n")
  return line.trim() === "" ? "" : `// ${cutText(line.trim(), 100)}\n`
}

/** A text as the language writes it. */
export function quoted(text: string): string {
  const escaped = JSON.stringify(text.toWellFormed())
    .slice(1, -1)
    .replaceAll(/\\b/g, "\\u{8}")
    .replaceAll(/\\f/g, "\\u{c}")
    .replaceAll(/\\u([0-9a-fA-F]{4})/g, "\\u{$1}")
  return `"${escaped.replaceAll("{{", "\\{\\{")}"`
}

/** The block that declares an output of this schema; null where no type says the same. */
function outputText(schema: JsonObject): string | null {
  const type = typeOf(schema, 0)
  if (type?.kind !== "record" || type.fields.length === 0) return null
  const text = showType(type, 2000)
  if (text.includes("…")) return null
  // What the types cannot be written as (odd names) is left to the server's own schema.
  const probe = `mcp s { endpoint: "http://x" }\ntool t from mcp.s.tool.t { output ${text} }`
  return compile(probe).diagnostics.some(isError) ? null : text
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
