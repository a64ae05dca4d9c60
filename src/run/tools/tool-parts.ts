import type { JsonValue } from "../../base/json-value.ts"
import type { ToolPart } from "../../log/messages.ts"
import { resourceValue } from "./resource-value.ts"

/**
 * What an expression gets of an answer that is not text alone: of a single image or file its data URL (which `asset`
 * takes), of a single resource its text or JSON, of several parts the list of them.
 */
export function partsValue(parts: readonly ToolPart[]): JsonValue {
  const [only, ...more] = parts
  if (only === undefined || more.length > 0) return parts.map((part) => ({ ...part }))
  switch (only.type) {
    case "text":
      return only.text
    case "image":
    case "audio":
    case "file":
      return only.url
    case "resource":
      return resourceValue(only)
    case "link":
      return { ...only }
  }
}

/** What a model reads of it. Images are numbered: where it can see them, they follow in that order. */
export function partsText(parts: readonly ToolPart[]): string {
  let images = 0
  return parts
    .map((part) => {
      switch (part.type) {
        case "text":
          return part.text
        case "image":
          return `[image ${++images}: ${part.media_type}${of(part.uri)}]`
        case "audio":
        case "file":
          return `[${part.type}: ${part.media_type}${of(part.uri)}, not shown]`
        case "resource":
          return `[resource ${part.uri}]\n${part.text}`
        case "link":
          return `[link to ${part.uri}: ${part.name}${part.description === "" ? "" : `, ${part.description}`}]`
      }
    })
    .join("\n")
}

export function partsImages(parts: readonly ToolPart[]): string[] {
  return parts.flatMap((part) => (part.type === "image" ? [part.url] : []))
}

function of(uri: string | undefined): string {
  return uri === undefined ? "" : `, ${uri}`
}
