import { safeFileName } from "../../base/file-name.ts"
import { isJsonObject } from "../../base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import { extensionOfMediaType, mediaTypeOfName, readMediaType } from "../../base/media-type.ts"
import { setOwn } from "../../base/ordered-object.ts"
import type { ToolPart } from "../../log/messages.ts"
import { failure } from "../../ports/run-failure.ts"
import type { ToolAnswer } from "../../ports/tools.ts"
import { elementType } from "../../types/element-type.ts"
import { givenFile, type GivenFile } from "../../types/file-value.ts"
import { plainType } from "../../types/relations.ts"
import type { Type, TypeTable } from "../../types/types.ts"
import { callStored, type RunContext } from "../context/run-context.ts"
import { FileRefusal } from "../files/files.ts"
import { mapFiles } from "../files/map-files.ts"
import { noFiles } from "../files/run-files.ts"
import { storeMade } from "../files/store-made.ts"
import { parseJson } from "../values/parse-json.ts"

/**
 * The answer with its images, sounds and binary resources where the declared output has files, in their order. What the answer says itself in these places is dropped: an
 * address or an id there would be the server's choice. A text that is no JSON goes to the only field for it.
 */
export function placeBlobs(answer: ToolAnswer, type: Type, types: TypeTable): ToolAnswer {
  const blobs = (answer.parts ?? []).flatMap((part) => blobOf(part) ?? [])
  const { parts: _, ...rest } = answer
  const plain = plainType(type, types)
  const isFile = (one: Type): boolean => plainType(one, types).kind === "file"
  const isFiles = (one: Type): boolean => {
    const element = elementType(plainType(one, types), types)
    return element !== undefined && isFile(element)
  }
  if (isFile(plain)) return { ...rest, structured: blobs[0] ?? null }
  if (isFiles(plain)) return { ...rest, structured: blobs }
  if (plain.kind !== "record") return rest
  const given = answer.structured ?? parseJson(answer.text)
  const structured: JsonObject = isJsonObject(given) ? { ...given } : {}
  const texts = plain.fields.filter((field) => plainType(field.type, types).kind === "string")
  const [text, ...moreTexts] = texts
  if (!isJsonObject(given) && text !== undefined && moreTexts.length === 0) {
    setOwn(structured, text.name, typeof given === "string" ? given : answer.text)
  }
  let next = 0
  for (const field of plain.fields) {
    if (isFile(field.type)) setOwn(structured, field.name, blobs[next++] ?? null)
    else if (isFiles(field.type)) {
      setOwn(structured, field.name, blobs.slice(next))
      next = blobs.length
    }
  }
  return { ...rest, structured }
}

/** A file as callers give one; undefined for a part that is none. */
function blobOf(part: ToolPart): JsonObject | undefined {
  if (part.type !== "image" && part.type !== "audio" && part.type !== "file") return undefined
  const given = givenFile(part.url)
  if (given?.kind !== "data") return undefined
  const last = part.uri === undefined ? "" : (URL.parse(part.uri)?.pathname.split("/").at(-1) ?? "")
  return { data: given.data, media_type: given.media_type, name: last === "" ? null : decoded(last) }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Where a call is made that gives files. */
export interface FileGivingCall {
  readonly path: string
  readonly tool: string
  readonly callId: string
  readonly type: Type
}

/** Stores the files in a result. The sentence says why one cannot be stored. */
export async function keepToolFiles(
  running: RunContext,
  value: JsonValue,
  { path, tool, callId, type }: FileGivingCall,
): Promise<{ readonly value: JsonValue } | { readonly problem: string }> {
  const { ports, caller, runId, scope, plan } = running
  if (ports.files === undefined) throw failure("evaluation_error", path, noFiles)
  const { files } = ports.files
  const [kind = "", name = ""] = path.split(/[.[]/)
  const own = kind === "output" || name === "" ? kind : `${kind}.${name}`
  const step = scope === null ? own : `${scope}/${own}`
  const one = async (given: GivenFile, place: string): Promise<JsonValue> => {
    if (given.kind !== "data")
      throw new FileRefusal("unsupported_media_type", `${place} is a file that the tool does not give`)
    const bytes = Buffer.from(given.data, "base64")
    const said = given.media_type ?? (given.name === null ? null : (mediaTypeOfName(given.name) ?? null))
    const media_type = readMediaType(said ?? "application/octet-stream") ?? "application/octet-stream"
    const called = given.name === null ? `${tool}.${extensionOfMediaType(media_type)}` : safeFileName(given.name)
    const made = { caller, run_id: runId, step, place: [callId, place], name: called, media_type, bytes }
    return storeMade(files, made, (work) => callStored(running, work))
  }
  try {
    return { value: await mapFiles(value, type, plan.types, "result", one) }
  } catch (error) {
    if (error instanceof FileRefusal) return { problem: error.message }
    throw error
  }
}
