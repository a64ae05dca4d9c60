import { isJsonObject } from "../../src/base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../../src/base/json-value.ts"
import { isModulePath } from "../../src/base/module-path.ts"
import type { SourceFiles } from "../../src/source/source-files.ts"
import { filesOf, sourceLength } from "../../src/source/source-files.ts"

/** What a link holds: source, the other files that it uses, and input, never secrets. */
export interface Shared extends SourceFiles {
  readonly source: string
  readonly input: JsonObject
}

const prefix = "#w1="
/** A link that grows beyond this when it is unpacked was not made here. */
const largest = 4_000_000
/**
 * The page compiles a workflow while its author types; larger texts are not workflows. Anyone can send a link: what it holds must not stop
 * the page, nor the next visit, which opens it again.
 */
export const largestSource = 1_000_000
/** Characters of the input as it is shown: with two blanks for each level. */
const largestInput = 2_000_000

/** The fragment of a link: JSON, deflated, in Base64 without signs that a URL would escape. */
export async function toFragment({ source, input, ...files }: Shared): Promise<string> {
  const bytes = new TextEncoder().encode(JSON.stringify({ source, input, ...filesOf(files) }))
  const packed = await collect(bytesOf(bytes).pipeThrough(new CompressionStream("deflate-raw")))
  let binary = ""
  for (const byte of packed) binary += String.fromCharCode(byte)
  return prefix + btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")
}

export function isLink(fragment: string): boolean {
  return fragment.startsWith(prefix)
}

/** What the page's address says is looked at. */
export interface Place {
  readonly run?: string | undefined
  /** The name of an open file; where only one is open it is left out. */
  readonly file?: string | undefined
  /** The tab of the results; left out for the first. */
  readonly tab?: string | undefined
  /** `output.reply`: whose origins are shown. */
  readonly origin?: string | undefined
  /** A workflow of the server that is to be opened; not kept in the address. */
  readonly workflow?: string | undefined
}

/** The fragment of the address of a place; empty for that of a first visit. */
export function toAddress({ run, file, tab, origin }: Place): string {
  const parts = Object.entries({ run, file, tab, origin }).flatMap(([name, value]) =>
    value === undefined || value === "" ? [] : [`${name}=${encodeURIComponent(value)}`],
  )
  return parts.length === 0 ? "" : `#${parts.join("&")}`
}

export function readAddress(fragment: string): Place {
  if (isLink(fragment)) return {}
  const parts = new URLSearchParams(fragment.replace(/^#/, "").replaceAll("+", "%2B"))
  const part = (name: string): string | undefined => {
    const value = parts.get(name)
    return value === null || value === "" ? undefined : value
  }
  return { run: part("run"), file: part("file"), tab: part("tab"), origin: part("origin"), workflow: part("workflow") }
}

const damaged = "This link is damaged: a part of it is missing or was changed. Ask for a new one."
const tooLarge = "Not opened: what this link holds is too large for this page."

/** What a fragment holds; a sentence where it is damaged, or too large. */
export async function fromFragment(fragment: string): Promise<Shared | string> {
  const value = await unpacked(fragment)
  if (!isJsonObject(value)) return damaged
  const { source, input, file, modules } = value
  if (typeof source !== "string" || !isJsonObject(input)) return damaged
  const files = { file, modules }
  if (!isFiles(files)) return damaged
  const shared = { source, input, ...filesOf(files) }
  return sourceLength(shared) > largestSource || shownLength(input) > largestInput ? tooLarge : shared
}

async function unpacked(fragment: string): Promise<JsonValue | undefined> {
  const text = fragment.slice(prefix.length).replaceAll("-", "+").replaceAll("_", "/")
  try {
    const packed = Uint8Array.from(atob(text), (unit) => unit.charCodeAt(0))
    const bytes = await collect(bytesOf(packed).pipeThrough(new DecompressionStream("deflate-raw")))
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes)) as JsonValue
  } catch {
    return undefined
  }
}

/** Whether these are the other files of a workflow, as `/execute` takes them. */
function isFiles(files: { readonly file?: unknown; readonly modules?: unknown }): files is SourceFiles {
  const { file, modules } = files
  if (file !== undefined && (typeof file !== "string" || !isModulePath(file))) return false
  if (modules === undefined) return true
  if (!isJsonObject(modules)) return false
  const main = file ?? "main.wire"
  return Object.entries(modules).every(
    ([path, text]) => isModulePath(path) && path !== main && typeof text === "string",
  )
}

/** How long a value is as indented JSON, at least. Indentation grows with the square of the depth, so this bounds the depth as well. */
function shownLength(value: JsonValue): number {
  const open: (readonly [JsonValue, number])[] = [[value, 1]]
  let length = 0
  for (let next = open.pop(); next !== undefined && length <= largestInput; next = open.pop()) {
    const [inner, level] = next
    length += 2 * level
    if (typeof inner === "string") length += inner.length
    else if (Array.isArray(inner)) for (const item of inner) open.push([item, level + 1])
    else if (inner !== null && typeof inner === "object") {
      for (const [name, item] of Object.entries(inner)) {
        length += name.length
        open.push([item, level + 1])
      }
    }
  }
  return length
}

function bytesOf(bytes: Uint8Array<ArrayBuffer>): ReadableStream<Uint8Array<ArrayBuffer>> {
  return new ReadableStream({
    start(controller) {
      controller.enqueue(bytes)
      controller.close()
    },
  })
}

async function collect(stream: ReadableStream<Uint8Array>): Promise<Uint8Array> {
  const parts: Uint8Array[] = []
  let length = 0
  const reader = stream.getReader()
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    length += next.value.length
    if (length > largest) throw new Error("Too large")
    parts.push(next.value)
  }
  const all = new Uint8Array(length)
  let at = 0
  for (const part of parts) {
    all.set(part, at)
    at += part.length
  }
  return all
}
