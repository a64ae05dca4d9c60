import { remembered } from "../base/remembered.ts"
import { expressionIn, wordOrString } from "../syntax/property-of.ts"
import { isWordOf, type WordOf } from "../syntax/property-table.ts"
import type * as Syntax from "../syntax/tree.ts"
import { constantIn } from "./constants.ts"

// Which kind of asset it is, as far as the source tells it.

export type AssetKind = WordOf<"asset">

/**
 * The kinds that the source tells: the one that `type` or a literal `media_type` names, or those of addresses that are written
 * out. Undefined where it does not tell all of them: then they are decided when the workflow runs.
 */
export function assetKindsIn(node: Syntax.AssetNode): ReadonlySet<AssetKind> | undefined {
  const known = remembered(kindsKnown, node, findKinds)
  return known === "unknown" ? undefined : known
}

// Each agent and each of its models asks again.
const kindsKnown = new WeakMap<Syntax.AssetNode, ReadonlySet<AssetKind> | "unknown">()

function findKinds({ value, block }: Syntax.AssetNode): ReadonlySet<AssetKind> | "unknown" {
  const type = expressionIn(block, "type")
  if (type !== undefined) {
    const word = wordOrString(type)
    return isWordOf("asset", word) ? new Set([word]) : new Set()
  }
  const written = constantIn(block, "media_type")
  const kind = typeof written === "string" ? kindOfMediaType(written) : undefined
  return (kind === undefined ? kindsOfSource(value) : new Set([kind])) ?? "unknown"
}

/** The kind of what has a media type such as `image/png`. */
export function kindOfMediaType(mediaType: string): AssetKind | undefined {
  const [, main = ""] = /^\s*([a-z]+)\/[\w.+-]/i.exec(mediaType) ?? []
  switch (main.toLowerCase()) {
    case "image":
      return "image"
    case "video":
      return "video"
    case "audio":
      return "audio"
    case "application":
    case "text":
      return "document"
    default:
      return undefined
  }
}

function kindsOfSource(source: Syntax.Expression): ReadonlySet<AssetKind> | undefined {
  switch (source.kind) {
    case "group":
      return kindsOfSource(source.expression)
    case "string": {
      const kind = kindOfDataUrl(source.texts[0] ?? "") ?? kindOfAddress(source.texts)
      return kind && new Set([kind])
    }
    case "array": {
      const kinds = new Set<AssetKind>()
      for (const item of source.items) {
        const own = kindsOfSource(item)
        if (own === undefined) return undefined
        for (const kind of own) kinds.add(kind)
      }
      return kinds.size === 0 ? undefined : kinds
    }
    default:
      return undefined
  }
}

export function kindOfDataUrl(text: string): AssetKind | undefined {
  const [, mediaType] = /^data:([^;,]+)[;,]/i.exec(text) ?? []
  return mediaType === undefined ? undefined : kindOfMediaType(mediaType)
}

/** The kind by the extension of an address. Of a text with interpolations its beginning and its end are written out. */
export function kindOfAddress(texts: readonly string[]): AssetKind | undefined {
  if (/^data:/i.test(texts[0] ?? "")) return undefined
  // What follows `?` or `#` is not part of the file's name.
  const stop = texts.findIndex((text) => /[?#]/.test(text))
  const last = stop < 0 ? texts.at(-1) : texts[stop]?.replace(/[?#][^]*/, "")
  const [, extension = ""] = /\.(\w+)$/.exec(last ?? "") ?? []
  return extensions.get(extension.toLowerCase())
}

const extensions = new Map<string, AssetKind>(
  Object.entries({
    image: "png jpg jpeg gif webp svg bmp avif heic heif tif tiff",
    document: "pdf txt md csv tsv html htm json xml yaml yml doc docx xls xlsx ppt pptx rtf odt ods odp",
    video: "mp4 m4v mov webm avi mkv mpeg mpg",
    audio: "wav mp3 m4a ogg oga opus flac aac aiff",
  } satisfies Record<AssetKind, string>).flatMap(([kind, names]) => {
    return names.split(" ").map((name): [string, AssetKind] => [name, kind as AssetKind])
  }),
)
