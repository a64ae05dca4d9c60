import { hash } from "node:crypto"
import { existsSync, lstatSync, mkdirSync, readdirSync, renameSync, rmdirSync, rmSync } from "node:fs"
import { join } from "node:path"
import { isJsonObject } from "../../base/is-json-object.ts"
import { rewriteJson } from "../../base/rewrite-json.ts"
import type { JsonValue } from "../../base/json-value.ts"
import type { Exchanges } from "../compose/compose-runs.ts"
import { readRegularFile } from "../../compiler/read-regular-file.ts"
import { readFoundBytes } from "./read-file.ts"
import { writeScratch } from "./write-scratch.ts"

// A recording has what models and tools made, in Base64. What is large stands beside it, each in a file that is named by its hash.

/** Smaller contents stay in the recording. */
const inlineBytes = 64 * 1024
const mostBytes = 64 * 1024 * 1024
/** No answer of a model or a tool has such a field. */
const marker = "wire:beside"
const hashName = /^[0-9a-f]{64}$/

/** `triage.test.recording.json` → `triage.test.recording.files` */
export function recordedFilesPath(recording: string): string {
  return `${recording.replace(/\.json$/, "")}.files`
}

/** The exchanges with large contents by their hashes, and these contents. */
export function withoutContents(exchanges: Exchanges): {
  readonly exchanges: Exchanges
  readonly contents: ReadonlyMap<string, Buffer>
} {
  const contents = new Map<string, Buffer>()
  const out = (text: string): JsonValue => {
    const [before, data] = (text.length > inlineBytes ? partsOf(text) : undefined) ?? ["", ""]
    const bytes = Buffer.from(data, "base64")
    if (bytes.length <= inlineBytes || bytes.toString("base64") !== data) return text
    const sha256 = hash("sha256", bytes, "hex")
    contents.set(sha256, bytes)
    return { [marker]: sha256, before }
  }
  return { exchanges: mapAnswers(exchanges, (value) => (typeof value === "string" ? out(value) : undefined)), contents }
}

/** The exchanges as they were. `read` gives the contents with a hash. */
export function withContents(exchanges: Exchanges, read: (sha256: string) => Uint8Array): Exchanges {
  return mapAnswers(exchanges, (value) => {
    if (!isJsonObject(value) || Object.keys(value).length !== 2) return undefined
    const { [marker]: beside, before } = value
    if (typeof beside !== "string" || typeof before !== "string" || !hashName.test(beside)) return undefined
    return before + Buffer.from(read(beside)).toString("base64")
  })
}

/** Reads contents beside a recording; a clause where they are not what was recorded. `root` as of the recording. */
export function readBeside(
  recording: string,
  sha256: string,
  root: string | null,
): Uint8Array | { readonly problem: string } {
  const path = join(recordedFilesPath(recording), sha256)
  const found = root === null ? { bytes: readNamed(path), problem: "" } : readFoundBytes(path, root, mostBytes)
  if (found.bytes === null) return { problem: `needs ${path}, which cannot be read` }
  return hash("sha256", found.bytes, "hex") === sha256 ? found.bytes : { problem: `needs ${path}, which was changed` }
}

function readNamed(path: string): Uint8Array | null {
  try {
    return readRegularFile(path, mostBytes)
  } catch {
    return null
  }
}

/** `add`: writes what is missing beside a recording. `tidy`: deletes what it does not name any more. */
export function writeBeside(recording: string, contents: ReadonlyMap<string, Uint8Array>, what: "add" | "tidy"): void {
  const folder = recordedFilesPath(recording)
  if (what === "add") mkdirSync(folder, { recursive: true })
  else if (!existsSync(folder)) return
  // A link that somebody put there would lead to files of others.
  if (!lstatSync(folder).isDirectory()) throw new Error(`${folder} is not a folder`)
  if (what === "add") {
    for (const [sha256, bytes] of contents) {
      const path = join(folder, sha256)
      if (!existsSync(path)) renameSync(writeScratch(path, bytes), path)
    }
    return
  }
  const names = readdirSync(folder)
  const unnamed = names.filter((name) => hashName.test(name) && !contents.has(name))
  for (const name of unnamed) rmSync(join(folder, name))
  if (unnamed.length === names.length) rmdirSync(folder)
}

/** What stands before the Base64 of a data URL, and the Base64; undefined for other texts. */
function partsOf(text: string): readonly [before: string, data: string] | undefined {
  const head = text.startsWith("data:") ? text.slice(0, text.indexOf(",", 0) + 1) : ""
  if (head !== "" && !/^data:[\w.+/-]{1,100};base64,$/.test(head)) return undefined
  const data = text.slice(head.length)
  return /^[A-Za-z0-9+/]*={0,2}$/.test(data) ? [head, data] : undefined
}

function mapAnswers(exchanges: Exchanges, to: (value: JsonValue) => JsonValue | undefined): Exchanges {
  const mapped = Object.entries(exchanges).map(([key, { request, answers }]): [string, Exchanges[string]] => [
    key,
    { request, answers: answers.map((answer) => rewriteJson(answer, to)) },
  ])
  return Object.fromEntries(mapped)
}
