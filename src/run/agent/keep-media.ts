import { extensionOfMediaType, readMediaType } from "../../base/media-type.ts"
import type { JsonObject } from "../../base/json-value.ts"
import type { MadeMedia } from "../../ports/model.ts"
import { failure } from "../../ports/run-failure.ts"
import { callStored, type RunContext } from "../context/run-context.ts"
import { FileRefusal } from "../files/files.ts"
import { noFiles } from "../files/run-files.ts"
import { storeMade } from "../files/store-made.ts"
import type { Caller } from "./agent-tools.ts"

/** Stores what the model of a step has made, under the name of the step. Rejects with a `RunFailure`. */
export async function keepMedia(
  running: RunContext,
  { path, about }: Caller,
  media: MadeMedia,
  at: number,
): Promise<JsonObject> {
  const { caller, runId, scope, ports } = running
  if (ports.files === undefined) throw failure("evaluation_error", path, noFiles)
  const { files } = ports.files
  const step = scope === null ? path : `${scope}/${path}`
  const { iteration = null } = about
  const media_type = readMediaType(media.media_type) ?? "application/octet-stream"
  const numbers = [iteration, at === 0 ? null : at].flatMap((number) => (number === null ? [] : [`-${number + 1}`]))
  const name = `${about.agent}${numbers.join("")}.${extensionOfMediaType(media_type)}`
  try {
    const made = { caller, run_id: runId, step, place: [iteration, at], name, media_type, bytes: media.bytes }
    return await storeMade(files, made, (work) => callStored(running, work))
  } catch (error) {
    if (!(error instanceof FileRefusal)) throw error
    // A model that says one type and gives another.
    throw failure(error.kind === "unsupported_media_type" ? "provider_error" : error.kind, path, error.message)
  }
}
