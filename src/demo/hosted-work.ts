import type { JsonObject, JsonValue } from "../base/json-value.ts"
import type { ApiName } from "../check/provider-kinds.ts"
import { hostedType } from "../syntax/property-table.ts"
import { demoPicture } from "./demo-picture.ts"
import { hashText } from "./seeded.ts"

// What the demo model's own tools do. They ask nobody: what they find is made from the question alone.

/** The types that each API has. */
const typesOf: Readonly<Partial<Record<ApiName, readonly string[]>>> = {
  responses: ["web_search", "file_search", "code_interpreter", "image_generation"],
  anthropic: ["web_search", "web_fetch", "code_execution"],
  google: ["google_search", "url_context", "code_execution", "file_search"],
}

/** The known type that an entry of `tools` begins with, where the API has it. */
export function hostedBy(api: ApiName, type: JsonValue | undefined): string | undefined {
  const known = typeof type === "string" ? hostedType(type) : undefined
  return known !== undefined && typesOf[api]?.includes(known) === true ? known : undefined
}

/** One use, as an item of `/responses`. The other APIs translate it. */
export interface HostedItem extends JsonObject {
  type: "hosted_call"
  /** Without its date. */
  tool: string
  id: string
  query: string
  url: string
}

export function hostedItem(tool: string, query: string, seed: string): HostedItem {
  const id = hashText(seed + tool)
    .toString(16)
    .padStart(8, "0")
  return { type: "hosted_call", tool, id, query, url: `https://example.com/${id}` }
}

const title = (query: string): string => `A page about ${query}`
/** What has to come back as it was sent. */
export const sealOf = (id: string): string => `demo-${hashText(`seal ${id}`).toString(16)}`
const codeOf = (query: string): string => `print(len(${JSON.stringify(query)}))`

export function responsesItem({ tool, id, query, url }: HostedItem): JsonObject {
  const own = { type: `${tool}_call`, id: `${tool.slice(0, 2)}_${id}`, status: "completed" }
  switch (tool) {
    case "web_search":
      return { ...own, action: { type: "search", query, sources: [{ type: "url", url }] } }
    case "file_search":
      return { ...own, queries: [query], results: null }
    case "code_interpreter":
      return {
        ...own,
        code: codeOf(query),
        container_id: "cntr_demo",
        outputs: [{ type: "logs", logs: String(query.length) }],
      }
    default:
      return { ...own, revised_prompt: query, output_format: "png", result: demoPicture(query).toString("base64") }
  }
}

/** The use and its result. */
export function anthropicBlocks({ tool, id, query, url }: HostedItem): JsonObject[] {
  const use = { type: "server_tool_use", id: `srvtoolu_${id}` }
  const result = { tool_use_id: use.id }
  switch (tool) {
    case "web_search":
      return [
        { ...use, name: "web_search", input: { query } },
        {
          type: "web_search_tool_result",
          ...result,
          content: [
            {
              type: "web_search_result",
              url,
              title: title(query),
              encrypted_content: sealOf(use.id),
              page_age: null,
            },
          ],
        },
      ]
    case "web_fetch":
      return [
        { ...use, name: "web_fetch", input: { url } },
        {
          type: "web_fetch_tool_result",
          ...result,
          content: {
            type: "web_fetch_result",
            url,
            retrieved_at: null,
            content: { type: "document", source: { type: "text", media_type: "text/plain", data: title(query) } },
          },
        },
      ]
    default:
      return [
        { ...use, name: "bash_code_execution", input: { command: `printf %s ${JSON.stringify(query)} | wc -c` } },
        {
          type: "bash_code_execution_tool_result",
          ...result,
          content: {
            type: "bash_code_execution_result",
            stdout: String(query.length),
            stderr: "",
            return_code: 0,
            content: [],
          },
        },
      ]
  }
}

/** What an answer quotes of the searches before it. */
export function citationsOf(items: readonly HostedItem[]): JsonObject[] {
  return items
    .filter(({ tool }) => tool === "web_search")
    .map(({ id, query, url }) => ({
      type: "web_search_result_location",
      url,
      title: title(query),
      cited_text: title(query),
      encrypted_index: sealOf(id),
    }))
}

/** Parts of the answer that show code. */
export function googleParts(items: readonly HostedItem[]): JsonObject[] {
  return items
    .filter(({ tool }) => tool === "code_execution")
    .flatMap(({ query }) => [
      { executableCode: { language: "PYTHON", code: codeOf(query) } },
      { codeExecutionResult: { outcome: "OUTCOME_OK", output: String(query.length) } },
    ])
}

/** What the answer is grounded on, beside its content. */
export function googleMetadata(items: readonly HostedItem[]): JsonObject {
  const searches = items.filter(({ tool }) => tool === "google_search")
  const pages = items.filter(({ tool }) => tool === "url_context")
  return {
    ...(searches.length > 0 && {
      groundingMetadata: {
        webSearchQueries: searches.map(({ query }) => query),
        groundingChunks: searches.map(({ url, query }) => ({ web: { uri: url, title: title(query) } })),
      },
    }),
    ...(pages.length > 0 && {
      urlContextMetadata: {
        urlMetadata: pages.map(({ url }) => ({
          retrievedUrl: url,
          urlRetrievalStatus: "URL_RETRIEVAL_STATUS_SUCCESS",
        })),
      },
    }),
  }
}
