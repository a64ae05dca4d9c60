import { cutText } from "../../base/cut-text.ts"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import { requestFiles } from "../../base/limits.ts"
import { mediaTypeOfName } from "../../base/media-type.ts"
import type { ErrorIssue, WireError } from "../../log/events.ts"
import type { Plan } from "../../plan/plan-shape.ts"
import { wireError } from "../../ports/run-failure.ts"
import type { GivenFile } from "../../types/file-value.ts"
import { holdsFile } from "../../types/holds-file.ts"
import { FileRefusal, type Files } from "./files.ts"
import { mapFiles } from "./map-files.ts"
import { fileValue, noFiles, oneChunk, ownFile } from "./run-files.ts"

/** An input whose files are stored, but for those that are fetched when the run begins, and the ids of these files. */
export interface TakenFiles {
  readonly input: JsonObject
  readonly files: readonly string[]
  /** All of its files are there. */
  readonly isWhole: boolean
}

/** Who gives the files. A webhook sends their contents and nothing else: an id or an address in it is a stranger's choice. */
export interface FileGiver {
  readonly caller: string
  readonly isWebhook: boolean
}

/** Whether an input of the workflow may have files. */
export function takesFiles({ input, types }: Plan): boolean {
  return holdsFile(input, types)
}

/** Replaces the files of an input by what is known of them. Contents are stored before the run is, which then refers to them. */
export async function takeFiles(
  files: Files | null,
  { input: type, types }: Plan,
  input: JsonObject,
  giver: FileGiver,
): Promise<TakenFiles | { readonly refused: WireError }> {
  const issues: ErrorIssue[] = []
  const ids = new Set<string>()
  let refusal: WireError | null = null
  let count = 0
  let isWhole = true
  const refuse = (path: string, message: string): JsonValue => {
    issues.push({ path, message: `${path}: ${message}` })
    return null
  }
  const one = async (given: GivenFile, path: string): Promise<JsonValue> => {
    if (refusal !== null) return null
    if (files === null) return refuse(path, noFiles)
    if (++count > requestFiles) return count === requestFiles + 1 ? refuse(path, tooMany) : null
    if (giver.isWebhook && given.kind !== "data") return refuse(path, "a webhook gives a file by its `data` alone")
    if (given.kind === "url") {
      isWhole = false
      return isAddress(given.url) ? { url: given.url } : refuse(`${path}.url`, notAnAddress)
    }
    if (given.kind === "data") {
      const bytes = Buffer.from(given.data, "base64")
      const { name } = given
      const media_type = given.media_type ?? (name === null ? null : (mediaTypeOfName(name) ?? null))
      try {
        await files.admit(giver.caller, bytes.length)
        const about = { name, media_type, bytes: bytes.length }
        const { file } = await files.put(giver.caller, about, oneChunk(bytes))
        ids.add(file.file_id)
        return fileValue(file)
      } catch (error) {
        if (!(error instanceof FileRefusal)) throw error
        if (error.kind === "unsupported_media_type") return refuse(path, error.message)
        refusal = wireError(error.kind, [{ path, message: error.message }])
        return null
      }
    }
    const file_id = given.kind === "id" ? given.file_id : given.file.file_id
    const file = await ownFile(files, giver.caller, file_id)
    if (file === null) return refuse(path, `you have no file ${JSON.stringify(cutText(file_id, 64))}`)
    ids.add(file_id)
    return fileValue(file)
  }
  const taken = (await mapFiles(input, type, types, "input", one)) as JsonObject
  if (refusal !== null) return { refused: refusal }
  const [first, ...rest] = issues
  if (first !== undefined) return { refused: wireError("input_error", [first, ...rest]) }
  return { input: taken, files: [...ids], isWhole }
}

const tooMany = `a request has at most ${requestFiles} files`
const notAnAddress = "expected an address that begins with https:// (or http://)"

function isAddress(text: string): boolean {
  const url = URL.parse(text)
  return url !== null && (url.protocol === "https:" || url.protocol === "http:")
}
