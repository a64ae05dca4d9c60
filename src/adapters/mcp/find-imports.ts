import { didYouMean } from "../../base/did-you-mean.ts"
import type { JsonObject } from "../../base/json-value.ts"
import type { ErrorIssue } from "../../run/events.ts"
import type { HostedPrompt, HostedResource, Imported } from "../../ports/tools.ts"
import { cleanLine, cleanText } from "./clean-text.ts"
import type { UriTemplate } from "./uri-template.ts"
import { parseUriTemplate } from "./uri-template.ts"
import { isObject } from "./walk-schema.ts"

export type Found<T> = { readonly found: T } | { readonly problem: ErrorIssue }

export function findTool(imported: Imported, tools: readonly JsonObject[]): Found<JsonObject> {
  const found = tools.find((tool) => tool["name"] === imported.remote)
  return found === undefined ? unknown("tool", imported, tools.map(nameOf)) : { found }
}

export interface PromptFound extends HostedPrompt {
  readonly remote: string
}

export function findPrompt(imported: Imported, prompts: readonly JsonObject[]): Found<PromptFound> {
  const found = prompts.find((prompt) => prompt["name"] === imported.remote)
  if (found === undefined) return unknown("prompt", imported, prompts.map(nameOf))
  const declared = Array.isArray(found["arguments"]) ? found["arguments"].filter(isObject) : []
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
  const matching = (key: string) => [
    ...resources.filter((item) => item[key === "uri" ? "uri" : "name"] === remote),
    ...templates.filter((item) => item[key === "uri" ? "uriTemplate" : "name"] === remote),
  ]
  const found = matching("uri").length > 0 ? matching("uri") : matching("name")
  const [first, second] = found
  if (first === undefined) {
    return unknown(
      "resource",
      imported,
      [...resources, ...templates].flatMap((item) => [nameOf(item), addressOf(item)]),
    )
  }
  if (second !== undefined) {
    const message = `mcp.${server} has ${found.length} resources named ${remote}`
    return { problem: { path, message, hint: `Name one by its URI: ${cleanLine(found.map(addressOf).join(", "))}` } }
  }
  const description = cleanText(typeof first["description"] === "string" ? first["description"] : "", 2000)
  if (typeof first["uri"] === "string") {
    return { found: { description, variables: [], required: [], uri: first["uri"] } }
  }
  const template = parseUriTemplate(addressOf(first))
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

function unknown(kind: string, { name, server, remote }: Imported, known: readonly string[]): { problem: ErrorIssue } {
  const near = didYouMean(
    remote,
    known.filter((one) => one !== ""),
  )
  const offered = known.length === 0 ? `: it offers no ${kind}s` : ""
  return {
    problem: {
      path: `${kind}.${name}`,
      message: `mcp.${server} has no ${kind} ${remote}${offered}`,
      ...(near === undefined ? {} : { hint: `Did you mean ${cleanLine(near, 200)}?` }),
    },
  }
}
