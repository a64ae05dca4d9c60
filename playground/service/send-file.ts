import { headersOfFile } from "../../src/client/sent-file.ts"
import { isFileValue, type FileValue } from "../../src/types/file-value.ts"
import { apiKey, baseUrl, keyWanted } from "./service.ts"

/** Sends a file, and says how much of it is sent: `fetch` does not know that. Rejects with an error whose message is a sentence. */
export function sendFile(file: File, progress: (share: number) => void, signal: AbortSignal): Promise<FileValue> {
  const request = new XMLHttpRequest()
  request.open("POST", `${baseUrl}/files`)
  request.responseType = "json"
  for (const [name, value] of Object.entries(headersOfFile(file.name, file.type === "" ? undefined : file.type)))
    request.setRequestHeader(name, value)
  if (apiKey.value !== undefined) request.setRequestHeader("authorization", `Bearer ${apiKey.value}`)
  request.upload.onprogress = ({ loaded, total }) => progress(total === 0 ? 0 : loaded / total)
  const abort = (): void => request.abort()
  signal.addEventListener("abort", abort, { once: true })
  const ended = new Promise<FileValue>((resolve, reject) => {
    request.onerror = () => reject(new Error("The service did not answer."))
    request.onabort = () => reject(new Error("Not sent."))
    request.onload = () => {
      const { status, response } = request
      const stored = factsIn(response)
      if (stored !== null) return resolve(stored)
      if (status === 401) keyWanted.value = { wrong: apiKey.value !== undefined, retry: () => undefined }
      if (status === 404) return reject(new Error("This service keeps no files (WIRE_FILES)."))
      const message = (response as { error?: { message?: unknown } } | null)?.error?.message
      reject(new Error(typeof message === "string" ? `${message}.` : `The service answered with ${status}.`))
    }
  })
  request.send(file)
  return ended.finally(() => signal.removeEventListener("abort", abort))
}

function factsIn(response: unknown): FileValue | null {
  if (typeof response !== "object" || response === null) return null
  const { file_id, name, media_type, bytes, sha256 } = response as Readonly<Record<string, unknown>>
  const facts = { file_id, name, media_type, bytes, sha256 }
  return isFileValue(facts) ? facts : null
}
