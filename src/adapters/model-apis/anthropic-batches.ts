import type { BatchAnswer } from "../../ports/batch-seat.ts"
import { isJsonObject } from "../../base/is-json-object.ts"
import type { JsonObject } from "../../base/json-value.ts"
import type { BatchSearch } from "../../ports/model-batches.ts"
import { numberIn, objectIn, textIn, type BatchApi, type BatchVendor } from "../model-turn/batch-api.ts"
import { ended, orMissing } from "./openai-batches.ts"

const pageSize = 100
const mostPages = 50

/** Anthropic's Message Batches: no metadata, so that a batch is known by the names of its calls, which are known once it has ended. */
export const anthropicBatches: BatchApi = {
  async submit(vendor, _id, calls) {
    const requests = calls.map(({ custom_id, body }) => `{"custom_id":${JSON.stringify(custom_id)},"params":${body}}`)
    const body = `{"requests":[${requests.join(",")}]}`
    return textIn(await vendor.json("/messages/batches", { method: "POST", body }), "id")
  },
  async find(vendor, id, calls, since) {
    let found: BatchSearch = "none"
    let after = ""
    for (let page = 0; page < mostPages; page++) {
      const list = await vendor.json(`/messages/batches?limit=${pageSize}${after}`)
      const data = Array.isArray(list["data"]) ? list["data"].filter(isJsonObject) : []
      let isOld = false
      for (const batch of data) {
        isOld ||= Date.parse(textIn(batch, "created_at")) < since + vendor.aheadMs
        // Its time may be wrong, but not the names of its calls: those of the first page are always looked at.
        if (isOld && page > 0) return found
        if (requestsOf(batch) !== calls) continue
        if (!hasEnded(batch)) found = isOld ? found : "maybe"
        else if (await begins(vendor, textIn(batch, "id"), `${id}-`)) return { provider_id: textIn(batch, "id") }
      }
      const last = textIn(list, "last_id")
      if (isOld || list["has_more"] !== true || last === "") break
      after = `&after_id=${encodeURIComponent(last)}`
    }
    return found
  },
  async look(vendor, provider_id) {
    const batch = await orMissing(vendor.json(`/messages/batches/${encodeURIComponent(provider_id)}`))
    if (batch === null) return null
    const counts = objectIn(batch, "request_counts")
    const failed = ["errored", "canceled", "expired"].reduce((sum, name) => sum + numberIn(counts, name), 0)
    const status = textIn(batch, "processing_status")
    return { status, ended: status === "ended", completed: numberIn(counts, "succeeded"), failed }
  },
  async results(vendor, provider_id, _look, take) {
    await vendor.lines(resultsOf(provider_id), (line) =>
      take(textIn(line, "custom_id"), answerIn(objectIn(line, "result"))),
    )
  },
  async cancel(vendor, provider_id) {
    const path = `/messages/batches/${encodeURIComponent(provider_id)}/cancel`
    await ended(vendor.json(path, { method: "POST", body: "{}" }))
  },
  async remove(vendor, provider_id) {
    await ended(vendor.json(`/messages/batches/${encodeURIComponent(provider_id)}`, { method: "DELETE" }))
  },
}

function resultsOf(provider_id: string): string {
  return `/messages/batches/${encodeURIComponent(provider_id)}/results`
}

function hasEnded(batch: JsonObject): boolean {
  return textIn(batch, "processing_status") === "ended"
}

/** All counts but `processing` are 0 until the batch has ended. */
function requestsOf(batch: JsonObject): number {
  return Object.values(objectIn(batch, "request_counts")).reduce<number>(
    (sum, count) => sum + (typeof count === "number" ? count : 0),
    0,
  )
}

/** Whether the names of a batch's calls begin so: all of them do, or none. */
async function begins(vendor: BatchVendor, provider_id: string, prefix: string): Promise<boolean> {
  let found = false
  const read = vendor.lines(resultsOf(provider_id), (line) => {
    found = textIn(line, "custom_id").startsWith(prefix)
    return "enough"
  })
  await orMissing(read)
  return found
}

const statuses: Readonly<Record<string, number>> = {
  invalid_request_error: 400,
  authentication_error: 401,
  billing_error: 402,
  permission_error: 403,
  not_found_error: 404,
  request_too_large: 413,
  rate_limit_error: 429,
  timeout_error: 504,
  overloaded_error: 529,
}

function answerIn(result: JsonObject): BatchAnswer {
  switch (textIn(result, "type")) {
    case "succeeded":
      return { status: 200, body: JSON.stringify(result["message"] ?? null) }
    case "errored": {
      const error = objectIn(result, "error")
      const type = textIn(objectIn(error, "error"), "type")
      return { status: statuses[type] ?? 500, body: JSON.stringify(error) }
    }
    case "canceled":
      return { status: null, body: "The call was not made: its batch was cancelled", cancelled: true }
    default:
      return { status: null, body: "The call was not made: its batch has expired" }
  }
}
