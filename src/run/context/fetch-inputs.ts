import { safeFileName } from "../../base/file-name.ts"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import { essenceOf, mediaTypeOfName, readMediaType } from "../../base/media-type.ts"
import { EgressFailure, type EgressResponse } from "../../ports/egress.ts"
import { failure, RunFailure } from "../../ports/run-failure.ts"
import { callOut, type RunContext } from "./run-context.ts"
import type { GivenFile } from "../../types/file-value.ts"
import { FileRefusal } from "../files/files.ts"
import { mapFiles } from "../files/map-files.ts"
import { fileValue, madeFileId, noFiles, ownFile } from "../files/run-files.ts"

/** The input of a run with the files that are given by their addresses. Each is fetched once: a run that goes on after a crash has those that it got. */
export async function fetchInputs(running: RunContext): Promise<JsonObject> {
  const { plan, input, ports, runId, caller, signal } = running
  const own = ports.files
  const fetched = async (given: GivenFile, path: string): Promise<JsonValue> => {
    if (given.kind === "value") return given.file
    if (given.kind !== "url") throw new Error(`${path} was not taken when the run was admitted`)
    if (own === undefined) throw failure("input_error", path, noFiles)
    const place = `${path}.url`
    const { files, egress } = own
    const file_id = madeFileId(runId, [path])
    const known = await ownFile(files, caller, file_id)
    if (known !== null) return fileValue(known)
    const limits = { max_bytes: files.limits.file }
    const headers = { accept: "*/*" }
    return callOut(running, async () => {
      try {
        const response = await egress.request({
          url: given.url,
          method: "GET",
          headers,
          body: null,
          signal,
          gate: running.gate,
          limits,
        })
        if (response.status !== 200) {
          response.discard()
          throw failure("input_error", place, `${place}: the server answered with HTTP ${response.status}`)
        }
        const about = { ...aboutAnswer(response), bytes: null }
        const made = { file_id, run_id: runId, step: null }
        return fileValue((await files.put(caller, about, response.body, made)).file)
      } catch (error) {
        throw asInputError(error, place, signal)
      }
    })
  }
  return (await mapFiles(input, plan.input, plan.types, "input", fetched)) as JsonObject
}

/** The name is the last part of the address. */
function aboutAnswer({ headers, url }: EgressResponse): { readonly name: string; readonly media_type: string | null } {
  const last = URL.parse(url)?.pathname.split("/").at(-1) ?? ""
  const name = safeFileName(decoded(last))
  const said = readMediaType(headers["content-type"] ?? "")
  const isKnown = said !== null && essenceOf(said) !== "application/octet-stream"
  return { name, media_type: isKnown ? said : (mediaTypeOfName(name) ?? null) }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

function asInputError(error: unknown, place: string, signal: AbortSignal): unknown {
  if (signal.aborted) return error
  if (error instanceof RunFailure) {
    const { kind, message } = error.error
    return kind === "blocked_destination" ? failure("input_error", place, `${place}: ${message}`) : error
  }
  if (error instanceof EgressFailure || error instanceof FileRefusal) {
    return failure("input_error", place, `${place}: ${error.message}`)
  }
  return error
}
