import { isJsonObject } from "../base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../base/json-value.ts"

/** More than any answer or event of the service has, in bytes or characters. What says it is one would fill the memory otherwise. */
export const longestAnswer = 64 * 1024 * 1024

/** An answer is not what the service answers. */
export class UnreadableAnswer extends Error {}

/** The JSON of an answer. Throws where it is not JSON, or has no end. */
export async function readJson(response: Response): Promise<JsonValue> {
  const decoder = new TextDecoder()
  const reader = response.body?.getReader()
  let text = ""
  let bytes = 0
  try {
    for (let read = await reader?.read(); read?.value !== undefined; read = await reader?.read()) {
      bytes += read.value.length
      if (bytes > longestAnswer) throw new UnreadableAnswer("The answer is too large")
      text += decoder.decode(read.value, { stream: true })
    }
  } finally {
    await reader?.cancel().catch(() => undefined)
  }
  return JSON.parse(text + decoder.decode()) as JsonValue
}

/** The same for an answer that is an object. */
export async function readObject(response: Response): Promise<JsonObject> {
  const value = await readJson(response)
  if (!isJsonObject(value)) throw new UnreadableAnswer("The answer is not a JSON object")
  return value
}
