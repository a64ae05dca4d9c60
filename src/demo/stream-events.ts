import type { JsonObject } from "../base/json-value.ts"
import { responsesItem } from "./hosted-work.ts"
import type { DemoResponse } from "./respond.ts"

/** One step of a stream: the SSE text, and whether a slow model takes its time before it. */
export interface StreamStep {
  readonly text: string
  readonly token: boolean
}

/** The response with the work of hosted tools as `/responses` shows it. */
export function asResponses(response: DemoResponse): JsonObject {
  return {
    ...response,
    output: response.output.map((item) => (item.type === "hosted_call" ? responsesItem(item) : item)),
  }
}

/** The response as the events that a streaming backend sends, `[DONE]` last. */
export function* streamEvents(answered: DemoResponse): Generator<StreamStep, void, undefined> {
  const response = asResponses(answered)
  let sequence_number = 0
  const step = (type: string, data: JsonObject, token = false): StreamStep => ({
    text: `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: sequence_number++, ...data })}\n\n`,
    token,
  })
  const begun = { ...response, status: "in_progress", incomplete_details: null, output: [], usage: null }
  yield step("response.created", { response: begun })
  yield step("response.in_progress", { response: begun })
  for (const [output_index, item] of answered.output.entries()) {
    if (item.type === "hosted_call") {
      const done = responsesItem(item)
      yield step("response.output_item.added", { output_index, item: { ...done, status: "in_progress" } })
      yield step(`response.${item.tool}_call.completed`, { item_id: done["id"] ?? "", output_index })
      yield step("response.output_item.done", { output_index, item: done })
      continue
    }
    const place = { item_id: item.id, output_index }
    if (item.type === "function_call") {
      const begun = { ...item, status: "in_progress", arguments: "" }
      yield step("response.output_item.added", { output_index, item: begun })
      for (const delta of tokens(item.arguments)) {
        yield step("response.function_call_arguments.delta", { ...place, delta }, true)
      }
      yield step("response.function_call_arguments.done", { ...place, arguments: item.arguments })
    } else {
      yield step("response.output_item.added", { output_index, item: { ...item, status: "in_progress", content: [] } })
      for (const [content_index, part] of item.content.entries()) {
        const spot = { ...place, content_index }
        yield step("response.content_part.added", { ...spot, part: { ...part, text: "" } })
        for (const delta of tokens(part.text)) yield step("response.output_text.delta", { ...spot, delta }, true)
        yield step("response.output_text.done", { ...spot, text: part.text })
        yield step("response.content_part.done", { ...spot, part })
      }
    }
    yield step("response.output_item.done", { output_index, item })
  }
  yield step(`response.${answered.status}`, { response })
  yield { text: "data: [DONE]\n\n", token: false }
}

/** A long text comes in larger pieces: thousands of pieces would be no easier to read. */
const maxPieces = 2000

/** Words with the blank before them, long ones in pieces. */
export function tokens(text: string): readonly string[] {
  if (text === "") return []
  const usual = text.length > 6 * maxPieces ? null : text.match(/\s?\S{1,6}|\s/gu)
  return usual ?? text.match(new RegExp(`[^]{1,${Math.ceil(text.length / maxPieces)}}`, "gu")) ?? []
}
