import { stepInlineBytes } from "../../base/limits.ts"
import type { Message, StoredContents, UserPart } from "../../log/messages.ts"
import type { ModelClient, ModelRequest, ModelTurn, ModelWatch } from "../../ports/model.ts"
import type { Arrival } from "../../ports/egress.ts"
import { failure } from "../../ports/run-failure.ts"
import type { SentRequest } from "../../ports/sent-request.ts"
import { fileIdIn } from "../../types/file-value.ts"
import type { Files } from "./files.ts"
import { noFiles, ownFile } from "./run-files.ts"
import { storedFilesIn } from "./stored-files-in.ts"

/** A model client that puts the contents of files where a conversation names them, for the time of the call. */
export function inlineFiles(model: ModelClient, files: Files | null): ModelClient {
  return {
    turn(request, watch) {
      const found = storedFilesIn(request.input)
      return found.size === 0 ? model.turn(request, watch) : turnWith(model, files, found, request, watch)
    },
  }
}

type Found = ReadonlyMap<string, StoredContents>

async function turnWith(
  model: ModelClient,
  files: Files | null,
  found: Found,
  request: ModelRequest,
  watch: ModelWatch,
): Promise<ModelTurn> {
  const bytes = [...found.values()].reduce((sum, file) => sum + file.bytes, 0)
  if (files === null) throw failure("evaluation_error", request.path, noFiles)
  if (bytes > stepInlineBytes) {
    const message = `The files that the model is given have ${bytes} bytes together, and at most ${stepInlineBytes} are sent`
    throw failure("limit_exceeded", request.path, message)
  }
  const arrival = watch.arrivals?.open(watch.signal)
  try {
    // As Base64, and once more in the body of the request.
    const room = arrival?.add(bytes * 3)
    if (room !== null && room !== undefined) await room
    const contents = await readAll(files, found, request)
    const input = request.input.map((message) => inlined(message, contents))
    return await model.turn({ ...request, input }, withoutContents(watch, contents))
  } finally {
    close(arrival)
  }
}

function close(arrival: Arrival | undefined): void {
  arrival?.close()
}

/** Base64 by the id of the file. */
async function readAll(
  files: Files,
  found: Found,
  { caller, path }: ModelRequest,
): Promise<ReadonlyMap<string, string>> {
  const contents = new Map<string, string>()
  for (const file_id of found.keys()) {
    const file = await ownFile(files, caller, file_id)
    if (file === null) throw failure("evaluation_error", path, `The file ${file_id} is gone`)
    contents.set(file_id, (await files.readAll(file)).toString("base64"))
  }
  return contents
}

function inlined(message: Message, contents: ReadonlyMap<string, string>): Message {
  if (message.role !== "user") return message
  return { ...message, parts: message.parts.map((part) => inlinedPart(part, contents)) }
}

function inlinedPart(part: UserPart, contents: ReadonlyMap<string, string>): UserPart {
  const data = part.type === "text" ? undefined : contents.get(fileIdIn(part.url) ?? "")
  if (part.type === "text" || part.stored === undefined || data === undefined) return part
  const { stored, ...rest } = part
  return { ...rest, url: `data:${stored.media_type};base64,${data}` }
}

/** A kept request names the file in place of its contents. */
function withoutContents(watch: ModelWatch, contents: ReadonlyMap<string, string>): ModelWatch {
  const { sent } = watch
  if (sent === undefined) return watch
  return { ...watch, sent: (call_id, request) => sent(call_id, shown(request, contents)) }
}

function shown(request: SentRequest, contents: ReadonlyMap<string, string>): SentRequest {
  let { body } = request
  // A short text may stand anywhere in the request.
  for (const [file_id, data] of contents) if (data.length >= 16) body = body.replaceAll(data, `[${file_id}]`)
  return { ...request, body }
}
