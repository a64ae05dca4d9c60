import { isJsonObject } from "../../base/is-json-object.ts"
import type { JsonObject } from "../../base/json-value.ts"
import type { Egress } from "../../ports/egress.ts"
import { openGate } from "../../ports/gate.ts"
import type { ToolServer } from "../../ports/tools.ts"
import { cleanText } from "./clean-text.ts"
import { explainFailure } from "./explain-failure.ts"
import { addressOf, nameOf } from "./find-imports.ts"
import { KnownServers } from "./known-servers.ts"
import type { ListedKind, McpLimits } from "./connect-to.ts"
import { ServerConnection, type ListMethod } from "./server-connection.ts"
import { toolPin } from "./tool-pin.ts"

/** What a server offers, texts cleaned of what cannot be seen. */
export interface ServerContents {
  readonly protocol: string
  readonly name: string
  readonly version: string
  readonly instructions: string
  readonly tools: readonly ListedTool[]
  readonly resources: readonly ListedResource[]
  readonly prompts: readonly ListedPrompt[]
}

export interface ListedTool {
  readonly name: string
  readonly title: string
  readonly description: string
  /** The schema that the server publishes. */
  readonly input: JsonObject
  readonly output: JsonObject | null
  readonly hints: readonly string[]
  readonly pin: string
}

export interface ListedResource {
  readonly name: string
  /** A URI, or a URI template. */
  readonly uri: string
  readonly template: boolean
  readonly description: string
  readonly media_type: string
}

export interface ListedPrompt {
  readonly name: string
  readonly description: string
  readonly arguments: readonly { readonly name: string; readonly required: boolean }[]
}

export interface InspectOptions {
  readonly egress: Egress
  readonly version: string
  readonly limits: McpLimits
}

/** Asks a server for everything that it offers. Rejects with a `RunFailure`. */
export async function inspectServer(
  server: ToolServer,
  { egress, version, limits }: InspectOptions,
  signal: AbortSignal,
): Promise<ServerContents> {
  const known = new KnownServers().of(server)
  const connection = new ServerConnection(server, {
    egress,
    gate: openGate,
    version,
    limits,
    known,
    meta: () => ({}),
    changed: () => undefined,
  })
  try {
    await connection.open(signal)
    const listed = (kind: ListedKind, method: ListMethod): Promise<readonly JsonObject[]> =>
      connection.offers(kind) ? connection.list(method, signal) : Promise.resolve([])
    const [tools, resources, templates, prompts] = await Promise.all([
      listed("tools", "tools/list"),
      listed("resources", "resources/list"),
      listed("resources", "resources/templates/list"),
      listed("prompts", "prompts/list"),
    ])
    const { name, version: release, instructions } = connection.about()
    return {
      protocol: connection.protocol,
      name: cleanText(name, 200),
      version: cleanText(release, 100),
      instructions: cleanText(instructions, 4000),
      tools: tools.map(listedTool),
      resources: [
        ...resources.map((item) => listedResource(item, false)),
        ...templates.map((item) => listedResource(item, true)),
      ],
      prompts: prompts.map(listedPrompt),
    }
  } catch (error) {
    throw explainFailure(error, server, server.endpoint)
  } finally {
    const { sessionEnd } = await connection.close()
    await sessionEnd
  }
}

const toldHints = { readOnlyHint: "read-only", idempotentHint: "idempotent", destructiveHint: "destructive" } as const

function listedTool(item: JsonObject): ListedTool {
  const { inputSchema, outputSchema, annotations } = item
  const hints = isJsonObject(annotations) ? annotations : {}
  return {
    name: nameOf(item),
    title: textOf(item, "title"),
    description: textOf(item, "description"),
    input: isJsonObject(inputSchema) ? inputSchema : {},
    output: isJsonObject(outputSchema) ? outputSchema : null,
    hints: Object.entries(toldHints).flatMap(([key, word]) => (hints[key] === true ? [word] : [])),
    pin: toolPin(item),
  }
}

function listedResource(item: JsonObject, template: boolean): ListedResource {
  return {
    name: nameOf(item),
    uri: addressOf(item),
    template,
    description: textOf(item, "description"),
    media_type: textOf(item, "mimeType"),
  }
}

function listedPrompt(item: JsonObject): ListedPrompt {
  const given = Array.isArray(item["arguments"]) ? item["arguments"].filter(isJsonObject) : []
  return {
    name: nameOf(item),
    description: textOf(item, "description"),
    arguments: given.map((one) => ({ name: nameOf(one), required: one["required"] === true })),
  }
}

function textOf(item: JsonObject, key: string): string {
  const value = item[key]
  return typeof value === "string" ? cleanText(value, 4000) : ""
}
