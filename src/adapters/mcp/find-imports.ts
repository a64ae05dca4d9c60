import { isJsonObject } from "../../base/is-json-object.ts"
import { didYouMean } from "../../base/did-you-mean.ts"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import { remembered } from "../../base/remembered.ts"
import type { ErrorIssue } from "../../log/events.ts"
import type { HostedPrompt, HostedResource, Imported } from "../../ports/tools.ts"
import { cleanLine, cleanText } from "./clean-text.ts"
import { parseUriTemplate, type UriTemplate } from "./uri-template.ts"
import { mcpTemplateLength } from "../../base/limits.ts"

export type Found<T> = { readonly found: T } | { readonly problem: ErrorIssue }

/** Finds the first of several tools with one name. */
export function findTool(imported: Imported, tools: readonly JsonObject[]): Found<JsonObject> {
  const found = named(imported.remote, tools)
  const [first] = found
  if (first === undefined) return unknown("tool", imported, tools, nameOf)
  return ambiguous("tool", imported, found) ?? { found: first }
}

/** What has the name to the letter; where nothing has, what has it in its normal form. */
function named(remote: string, ...lists: readonly (readonly JsonObject[])[]): readonly JsonObject[] {
  const found = lists.flatMap((items) => matching(items, "name", remote))
  if (found.length > 0) return found
  return lists.flatMap((items) => matching(items, "name", normalForm(remote), normalForm))
}

/** Case, `-`, `_`, `.`, `/` and blanks do not count: `create_task` finds `create-task` and `CreateTask`. */
function normalForm(name: string): string {
  return name.toLowerCase().replaceAll(/[-_./\s]+/g, "")
}

/** A problem where names that differ have the normal form of the one that is looked for. */
function ambiguous(
  kind: string,
  { name, server, remote }: Imported,
  found: readonly JsonObject[],
): { problem: ErrorIssue } | undefined {
  const names = [...new Set(found.map(nameOf))]
  const [first] = names
  if (first === undefined || names.length === 1) return undefined
  const shown = names.slice(0, 10).map((one) => cleanLine(one, 200))
  return {
    problem: {
      path: `${kind}.${name}`,
      message: `mcp.${server} has ${names.length} ${kind}s that ${remote} may mean: ${shown.join(", ")}`,
      hint: `Write the name as the server does: \`mcp.${server}.${kind}.${asWritten(first)}\`.`,
    },
  }
}

/** A remote name as a workflow writes it. */
function asWritten(remote: string): string {
  return /^[\w./-]+$/.test(remote) ? cleanLine(remote, 200) : JSON.stringify(cleanLine(remote, 200))
}

type Table = ReadonlyMap<JsonValue | undefined, readonly JsonObject[]>

/** Lists by one of their keys, made once: a workflow may import thousands of a server's things. */
const tables = new WeakMap<readonly JsonObject[], Map<string, Table>>()

function matching(
  items: readonly JsonObject[],
  key: string,
  wanted: string,
  form?: (text: string) => string,
): readonly JsonObject[] {
  const known = remembered(tables, items, () => new Map<string, Table>())
  const table = remembered(known, form === undefined ? key : `${key} in its normal form`, () =>
    Map.groupBy(items, (item) => {
      const value = item[key]
      return form !== undefined && typeof value === "string" ? form(value) : value
    }),
  )
  return table.get(wanted) ?? []
}

export interface PromptFound extends HostedPrompt {
  /** The server's name for it. */
  readonly remote: string
}

export function findPrompt(imported: Imported, prompts: readonly JsonObject[]): Found<PromptFound> {
  const all = named(imported.remote, prompts)
  const [found] = all
  if (found === undefined) return unknown("prompt", imported, prompts, nameOf)
  const problem = ambiguous("prompt", imported, all)
  if (problem !== undefined) return problem
  const declared = Array.isArray(found["arguments"]) ? found["arguments"].filter(isJsonObject) : []
  return {
    found: {
      remote: nameOf(found),
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
  const found = byAddress.length > 0 ? byAddress : named(remote, resources, templates)
  const [first, second] = found
  if (first === undefined) {
    const all = [...resources.slice(0, maxHinted), ...templates.slice(0, maxHinted)]
    return unknown("resource", imported, all, nameOf, addressOf)
  }
  const other = byAddress.length > 0 ? undefined : ambiguous("resource", imported, found)
  if (other !== undefined) return other
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
  const template = addressOf(first).length > mcpTemplateLength ? null : parseUriTemplate(addressOf(first))
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

/** A slip is looked for among so many. */
const maxHinted = 200

function unknown(
  kind: string,
  { name, server, remote }: Imported,
  items: readonly JsonObject[],
  ...namings: ((item: JsonObject) => string)[]
): { problem: ErrorIssue } {
  const known = items.slice(0, maxHinted).flatMap((item) => namings.map((naming) => naming(item)))
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
