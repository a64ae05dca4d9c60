import type { JsonObject } from "../base/json-value.ts"
import { integerType, stringType } from "./primitives.ts"
import type { RecordType } from "./types.ts"

/** What a file is in outputs, records and events: its facts, never its contents. */
export interface FileValue extends JsonObject {
  file_id: string
  name: string
  media_type: string
  bytes: number
  /** Of the contents, in hex. */
  sha256: string
}

/** What expressions may read of a file. */
export const fileFields: RecordType = {
  kind: "record",
  fields: [
    { name: "name", type: stringType, doc: "What the file is called." },
    { name: "media_type", type: stringType, doc: "The media type, such as `application/pdf`." },
    { name: "bytes", type: integerType, doc: "The size of the contents." },
  ],
}

/** A file whose contents the service has. */
export function isFileValue(value: unknown): value is FileValue {
  if (!isObject(value) || Object.keys(value).length !== 5) return false
  const { file_id, name, media_type, bytes, sha256 } = value
  const texts = [file_id, name, media_type, sha256]
  return texts.every((text) => typeof text === "string") && Number.isSafeInteger(bytes)
}

/** How a caller may give a file. */
export type GivenFile =
  | { readonly kind: "id"; readonly file_id: string }
  | { readonly kind: "url"; readonly url: string }
  | { readonly kind: "data"; readonly data: string; readonly media_type: string | null; readonly name: string | null }
  | { readonly kind: "value"; readonly file: FileValue }

/** The file that a caller gives; null for what is none. */
export function givenFile(value: unknown): GivenFile | null {
  if (typeof value === "string") return fromDataUrl(value)
  if (isFileValue(value)) return { kind: "value", file: value }
  if (!isObject(value)) return null
  const keys = Object.keys(value)
  const { file_id, url, data, media_type = null, name = null } = value
  if (keys.length === 1 && typeof file_id === "string") return { kind: "id", file_id }
  if (keys.length === 1 && typeof url === "string") return { kind: "url", url }
  const isKnown = keys.every((key) => key === "data" || key === "media_type" || key === "name")
  if (!isKnown || typeof data !== "string" || !isTextOrNull(media_type) || !isTextOrNull(name)) return null
  return isBase64(data) ? { kind: "data", data, media_type, name } : null
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}

function isTextOrNull(value: unknown): value is string | null {
  return value === null || typeof value === "string"
}

const dataUrl = /^data:([^,;]*)((?:;[^,;]*)*),/i

function fromDataUrl(text: string): GivenFile | null {
  const [head, mediaType = "", parameters = ""] = dataUrl.exec(text.slice(0, 1024)) ?? []
  if (head === undefined || !/;base64$/i.test(parameters)) return null
  const data = text.slice(head.length)
  return isBase64(data) ? { kind: "data", data, media_type: mediaType === "" ? null : mediaType, name: null } : null
}

/** Padding may be left out. One character alone at the end is a text that was cut off. */
function isBase64(text: string): boolean {
  const [, data = "", padding = ""] = /^([A-Za-z0-9+/]*)(={0,2})$/.exec(text) ?? [undefined, "?"]
  return data !== "?" && data.length % 4 !== 1 && (padding === "" || (data.length + padding.length) % 4 === 0)
}

/** A reference to a file of the service where other assets have an address: nothing outside is called by it. */
const scheme = "wire-file:"

export function fileUrl({ file_id }: Pick<FileValue, "file_id">): string {
  return `${scheme}${file_id}`
}

/** The id in such a reference; null for any other address. */
export function fileIdIn(url: string): string | null {
  return url.startsWith(scheme) ? url.slice(scheme.length) : null
}
