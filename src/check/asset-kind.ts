import type { Properties } from "../syntax/property-of.ts"
import { expressionIn } from "../syntax/property-of.ts"
import type * as Syntax from "../syntax/tree.ts"
import { constantIn } from "./constants.ts"

// Which kind of asset it is, as far as the source tells it.

const kinds = ["image", "document", "video"] as const
export type AssetKind = (typeof kinds)[number]

export function isAssetKind(word: string): word is AssetKind {
  return kinds.some((kind) => kind === word)
}

/** The kind that `type` names, or that follows from a literal `media_type` or from a source that is written out. */
export function assetKindOf({ value, block }: Syntax.AssetNode): AssetKind | undefined {
  const type = expressionIn(block, "type")
  if (type !== undefined) {
    const word = wordOrString(type)
    return word !== undefined && isAssetKind(word) ? word : undefined
  }
  const written = constantIn(block, "media_type")
  return (typeof written === "string" ? kindOfMediaType(written) : undefined) ?? kindOfSource(value)
}

function kindOfMediaType(mediaType: string): AssetKind | undefined {
  const [, main = ""] = /^\s*([a-z]+)\/[\w.+-]/i.exec(mediaType) ?? []
  switch (main.toLowerCase()) {
    case "image":
      return "image"
    case "video":
      return "video"
    case "application":
    case "text":
      return "document"
    default:
      return undefined
  }
}

function kindOfSource(source: Syntax.Expression): AssetKind | undefined {
  switch (source.kind) {
    case "group":
      return kindOfSource(source.expression)
    case "string":
      return kindOfText(source)
    case "array": {
      const [first, ...others] = source.items.map(kindOfSource)
      return others.every((kind) => kind === first) ? first : undefined
    }
    default:
      return undefined
  }
}

/** Of a text with interpolations its beginning and its end are written out. */
function kindOfText({ texts }: Syntax.StringNode): AssetKind | undefined {
  const [first = ""] = texts
  const [, mediaType] = /^data:([^;,]+)[;,]/i.exec(first) ?? []
  if (mediaType !== undefined) return kindOfMediaType(mediaType)
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
  } satisfies Record<AssetKind, string>).flatMap(([kind, names]) => {
    return names.split(" ").map((name): [string, AssetKind] => [name, kind as AssetKind])
  }),
)

/** The value of a plain string, or a bare word such as `auto`. */
export function wordOrString(node: Syntax.Expression): string | undefined {
  if (node.kind === "string" && node.interpolations.length === 0) return node.texts[0]
  if (node.kind === "chain" && node.base.kind === "name" && node.steps.length === 0) return node.base.text
  return undefined
}

/** That of a property. */
export function wordIn(block: Properties | undefined, name: string): string | undefined {
  const expression = expressionIn(block, name)
  return expression && wordOrString(expression)
}
