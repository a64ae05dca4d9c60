import type { CallToolResult, ContentBlock, GetPromptResult, ReadResourceResult } from "@modelcontextprotocol/client"
import type { JsonValue } from "../../base/json-value.ts"
import type { PromptMessage, ToolPart } from "../../log/messages.ts"
import type { ResourceAnswer, ToolAnswer } from "../../ports/tools.ts"
import { cleanLine } from "./clean-text.ts"
import { isDeeper } from "../../base/bounded-json.ts"
import { mcpAnswerParts, mcpContentLevels } from "../../base/limits.ts"

function few<T>(parts: readonly T[]): readonly T[] {
  if (parts.length > mcpAnswerParts) throw new Error(`The server sent an answer of more than ${mcpAnswerParts} parts`)
  return parts
}

export function readToolResult(result: CallToolResult): ToolAnswer {
  const structured = result.structuredContent as JsonValue | undefined
  if (isDeeper(structured, mcpContentLevels))
    throw new Error(`The server sent a value that is nested over ${mcpContentLevels} levels deep`)
  const parts = few(result.content ?? []).map(partOf)
  const text = parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n")
  return {
    ...(structured === undefined ? {} : { structured }),
    text,
    ...(parts.every(({ type }) => type === "text") ? {} : { parts }),
    is_error: result.isError === true,
  }
}

export function readResourceResult(result: ReadResourceResult): ResourceAnswer {
  const [only, ...more] = result.contents
  if (only !== undefined && more.length === 0) {
    const media_type = only.mimeType ?? null
    return "text" in only
      ? { text: only.text, media_type }
      : { text: dataUrl(only.mimeType, only.blob), media_type: null }
  }
  const texts = few(result.contents).map((one) => ("text" in one ? one.text : dataUrl(one.mimeType, one.blob)))
  return { text: texts.join("\n\n"), media_type: null }
}

export function readPromptResult(result: GetPromptResult): PromptMessage[] {
  return few(result.messages).map(({ role, content }) => {
    const part = partOf(content)
    // A model's own words cannot hold an image; neither can those of one that answers in another's name.
    const image = part.type === "image" && role === "user" ? [part.url] : []
    return { role, text: image.length > 0 ? "" : textOf(part), images: image }
  })
}

/** A part in words, for those who read text only. */
function textOf(part: ToolPart): string {
  switch (part.type) {
    case "text":
      return part.text
    case "resource":
      return part.text
    case "link":
      return `[${part.name}](${part.uri})`
    case "image":
    case "audio":
    case "file":
      return `[${part.type}: ${part.media_type}]`
  }
}

function partOf(block: ContentBlock): ToolPart {
  switch (block.type) {
    case "text":
      return { type: "text", text: block.text }
    case "image":
    case "audio":
      return { type: block.type, media_type: mediaType(block.mimeType), url: dataUrl(block.mimeType, block.data) }
    case "resource": {
      const { resource } = block
      const media_type = mediaType(resource.mimeType)
      const uri = cleanLine(resource.uri, 2000)
      if ("text" in resource) return { type: "resource", uri, media_type, text: resource.text }
      const type = media_type.startsWith("image/") ? "image" : media_type.startsWith("audio/") ? "audio" : "file"
      return { type, media_type, url: dataUrl(resource.mimeType, resource.blob), uri }
    }
    case "resource_link":
      return {
        type: "link",
        uri: cleanLine(block.uri, 2000),
        name: cleanLine(block.title ?? block.name, 200),
        description: cleanLine(block.description ?? ""),
        media_type: mediaType(block.mimeType),
      }
  }
}

function mediaType(given: string | undefined): string {
  return given !== undefined && /^[\w.+-]+\/[\w.+-]+$/.test(given) ? given.toLowerCase() : "application/octet-stream"
}

function dataUrl(given: string | undefined, base64: string): string {
  return `data:${mediaType(given)};base64,${base64.replaceAll(/\s+/g, "")}`
}
