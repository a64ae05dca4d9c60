import { isJsonObject } from "../../base/is-json-object.ts"
import { didYouMean } from "../../base/did-you-mean.ts"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import type { ErrorIssue } from "../../ports/events.ts"
import type { HostedPrompt, HostedResource, Imported } from "../../ports/tools.ts"
import { cleanLine, cleanText } from "./clean-text.ts"
import type { UriTemplate } from "./uri-template.ts"
import { parseUriTemplate } from "./uri-template.ts"

export type Found<T> = { readonly found: T } | { readonly problem: ErrorIssue }

/** Finds the first of several tools with one name. */
export function findTool(imported: Imported, tools: readonly JsonObject[]): Found<JsonObject> {
  const [found] = matching(tools, "name", imported.remote)
  return found === undefined ? unknown("tool", imported, tools, nameOf) : { found }
}

type Table = ReadonlyMap<JsonValue | undefined, readonly JsonObject[]>

/** Lists by one of their keys, made once: a workflow may import thousands of a server's things. */
const tables = new WeakMap<readonly JsonObject[], Map<string, Table>>()

function matching(items: readonly JsonObject[], key: string, wanted: string): readonly JsonObject[] {
  const known = tables.get(items) ?? new Map<string, Table>()
  tables.set(items, known)
  const table = known.get(key) ?? Map.groupBy(items, (item) => item[key])
  known.set(key, table)
  return table.get(wanted) ?? []
}

export interface PromptFound extends HostedPrompt {
  readonly remote: string
}

export function findPrompt(imported: Imported, prompts: readonly JsonObject[]): Found<PromptFound> {
  const [found] = matching(prompts, "name", imported.remote)
  if (found === undefined) return unknown("prompt", imported, prompts, nameOf)
  const declared = Array.isArray(found["arguments"]) ? found["arguments"].filter(isJsonObject) : []
  return {
    found: {
      remote: imported.remote,
      arguments: declared.map((one) => ({ name: nameOf(one), required: one["required"] === true })),
    },
  }
}

export interface ResourceFound extends HostedResource {
  readonly uri: string | UriTemplate
}

/** A resource by its name or URI, or a template by its name or itself. */
export function findResource(
  imported: Imported,
  resources: readonly JsonObject[],
  templates: readonly JsonObject[],
): Found<ResourceFound> {
  const { remote, name, server } = imported
  const path = `resource.${name}`
  const byAddress = [...matching(resources, "uri", remote), ...matching(templates, "uriTemplate", remote)]
  const found =
    byAddress.length > 0 ? byAddress : [...matching(resources, "name", remote), ...matching(templates, "name", remote)]
  const [first, second] = found
  if (first === undefined) {
    const all = [...resources.slice(0, mostHinted), ...templates.slice(0, mostHinted)]
    return unknown("resource", imported, all, nameOf, addressOf)
  }
  if (second !== undefined) {
    const message = `mcp.${server} has ${found.length} resources named ${remote}`
    return {
      problem: {
        path,
        message,
        hint: `Name one by its URI: ${cleanLine(found.slice(0, 10).map(addressOf).join(", "))}`,
      },
    }
  }
  const description = cleanText(typeof first["description"] === "string" ? first["description"] : "", 2000)
  if (typeof first["uri"] === "string") {
    return { found: { description, variables: [], required: [], uri: first["uri"] } }
  }
  const template = addressOf(first).length > longestTemplate ? null : parseUriTemplate(addressOf(first))
  if (template === null) {
    return { problem: { path, message: `mcp.${server} has a URI template for ${remote} that cannot be read` } }
  }
  return { found: { description, variables: template.variables, required: template.required, uri: template } }
}

export function nameOf(item: JsonObject): string {
  return typeof item["name"] === "string" ? item["name"] : ""
}

export function addressOf(item: JsonObject): string {
  const address = item["uri"] ?? item["uriTemplate"]
  return typeof address === "string" ? address : ""
}

const longestTemplate = 2000

/** A slip is looked for among so many. */
const mostHinted = 200

function unknown(
  kind: string,
  { name, server, remote }: Imported,
  items: readonly JsonObject[],
  ...namings: ((item: JsonObject) => string)[]
): { problem: ErrorIssue } {
  const known = items.slice(0, mostHinted).flatMap((item) => namings.map((naming) => naming(item)))
  const near = didYouMean(
    remote,
    known.filter((one) => one !== ""),
  )
  const offered = items.length === 0 ? `: it offers no ${kind}s` : ""
  return {
    problem: {
      path: `${kind}.${name}`,
      message: `mcp.${server} has no ${kind} ${remote}${offered}`,
      ...(near === undefined ? {} : { hint: `Did you mean ${cleanLine(near, 200)}?` }),
    },
  }
}
