import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import { kindOfAddress, kindOfDataUrl, kindOfMediaType } from "../../check/asset-kind.ts"
import { essenceOf } from "../../base/media-type.ts"
import { fileUrl, type FileValue } from "../../types/file-value.ts"
import type { AssetKind } from "../../plan/plan-shape.ts"

const brand = Symbol("asset")

/**
 * What `asset e { … }` evaluates to. It travels among JSON values, so it is an object with a mark that no JSON text can
 * carry: a model's or caller's object is never taken for one.
 */
export interface Asset extends JsonObject {
  type: AssetKind
  /** An http(s) URL, a data URL, or a file of the service. */
  url: string
  /** Null for every other source. */
  file: FileValue | null
  title: string | null
  context: string | null
  citations: boolean
}

export function asset(type: AssetKind, url: string, about: AssetOptions, file: FileValue | null = null): Asset {
  const { title, context, citations } = about
  return Object.defineProperty({ type, url, file, title, context, citations }, brand, { value: true })
}

/** A file as an asset: of the kind of its media type. Null where neither that nor the author tells the kind. */
export function fileAsset(file: FileValue, type: AssetKind | null, about: AssetOptions): Asset | null {
  const isUnknown = essenceOf(file.media_type) === "application/octet-stream"
  const kind = (isUnknown ? undefined : kindOfMediaType(file.media_type)) ?? type
  return kind === null ? null : asset(kind, fileUrl(file), about, file)
}

/** What the author says of an asset. */
export interface AssetOptions {
  readonly mediaType: string | null
  readonly title: string | null
  readonly context: string | null
  readonly citations: boolean
}

/** What kind of asset a text is that the author gives no type: by its data URL, its media type or its extension, else an image. */
export function guessedKind(given: string, mediaType: string | null): AssetKind {
  const byType = mediaType === null ? undefined : kindOfMediaType(mediaType)
  return kindOfDataUrl(given) ?? byType ?? kindOfAddress([given]) ?? "image"
}

export function isAsset(value: JsonValue): value is Asset {
  return typeof value === "object" && value !== null && brand in value
}

const listBrand = Symbol("assets")

/** What `asset e { … }` of an array evaluates to: one part each, in order. */
export function assetList(assets: Asset[]): JsonValue[] {
  return Object.defineProperty(assets, listBrand, { value: true })
}

export function isAssetList(value: JsonValue): value is Asset[] {
  return Array.isArray(value) && listBrand in value
}

/** The media type that is assumed for Base64 text that comes without one. */
const assumed: Record<AssetKind, string> = {
  image: "image/png",
  document: "application/pdf",
  video: "video/mp4",
  audio: "audio/wav",
}

/** The URL of what the author gave: a URL, a data URL, or Base64 text. Null for any other text. */
export function assetUrl(type: AssetKind, given: string, mediaType: string | null): string | null {
  if (/^https?:\/\//i.test(given)) return given
  if (/^data:/i.test(given)) return given
  const base64 = given.replace(/\s+/g, "")
  if (base64 === "" || !/^[A-Za-z0-9+/_-]+={0,2}$/.test(base64)) return null
  return `data:${mediaType ?? assumed[type]};base64,${base64.replaceAll("-", "+").replaceAll("_", "/")}`
}

/** How an asset reads where only text is shown. */
export function assetLabel(shown: Asset): string {
  const title = shown.title ?? shown.file?.name ?? null
  return title === null ? `[${shown.type}]` : `[${shown.type}: ${title}]`
}
