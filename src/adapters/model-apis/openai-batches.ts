import type { BatchAnswer } from "../../ports/batch-seat.ts"
import { randomBytes } from "node:crypto"
import { isJsonObject } from "../../base/is-json-object.ts"
import type { JsonObject } from "../../base/json-value.ts"
import { BatchTrouble, type BatchCall } from "../../ports/model-batches.ts"
import { numberIn, objectIn, textIn, type BatchApi, type BatchVendor } from "../model-turn/batch-api.ts"

/** 7 days: what is not deleted before. */
const keptSeconds = 604_800
const endedWords: readonly string[] = ["completed", "failed", "expired", "cancelled"]
const pageSize = 100
const mostPages = 50

/** OpenAI's batches: a file of requests is uploaded, and its results are files. `path` is what all of its calls ask for. */
export function openAiBatches(path: string): BatchApi {
  return {
    async submit(vendor, id, calls) {
      const uploaded = textIn(await upload(vendor, path, calls), "id")
      const made = await vendor.json("/batches", {
        method: "POST",
        body: JSON.stringify({
          input_file_id: uploaded,
          endpoint: path,
          completion_window: "24h",
          metadata: { wireworks: id },
          output_expires_after: { anchor: "created_at", seconds: keptSeconds },
        }),
      })
      return idOf(made)
    },
    async find(vendor, id, _calls, since) {
      let after = ""
      for (let page = 0; page < mostPages; page++) {
        const list = await vendor.json(`/batches?limit=${pageSize}${after}`)
        const data = Array.isArray(list["data"]) ? list["data"].filter(isJsonObject) : []
        for (const batch of data) {
          if (textIn(objectIn(batch, "metadata"), "wireworks") === id) return { provider_id: idOf(batch) }
        }
        const [first, last] = [data[0], data.at(-1)]
        if (first === undefined || last === undefined || list["has_more"] !== true) return "none"
        const [newest, oldest] = [numberIn(first, "created_at"), numberIn(last, "created_at")]
        // The newest come first, as far as anybody knows.
        if (oldest * 1000 < since + vendor.aheadMs && newest >= oldest) return "none"
        after = `&after=${encodeURIComponent(textIn(last, "id"))}`
      }
      return "maybe"
    },
    async look(vendor, provider_id) {
      const batch = await orMissing(vendor.json(`/batches/${encodeURIComponent(provider_id)}`))
      if (batch === null) return null
      const status = textIn(batch, "status")
      const counts = objectIn(batch, "request_counts")
      const problem = problemOf(batch)
      return {
        status,
        ended: endedWords.includes(status),
        completed: numberIn(counts, "completed"),
        failed: numberIn(counts, "failed"),
        ...(problem !== "" && { problem }),
        results: ["output_file_id", "error_file_id"].map((name) => textIn(batch, name)).filter((file) => file !== ""),
        uploaded: textIn(batch, "input_file_id"),
      }
    },
    async results(vendor, _provider_id, { results = [] }, take) {
      for (const file of results) {
        await vendor.lines(`/files/${encodeURIComponent(file)}/content`, (line) =>
          take(textIn(line, "custom_id"), answerIn(line)),
        )
      }
    },
    async cancel(vendor, provider_id) {
      await ended(vendor.json(`/batches/${encodeURIComponent(provider_id)}/cancel`, { method: "POST", body: "{}" }))
    },
    async remove(vendor, _provider_id, { results = [], uploaded = "" }) {
      for (const file of [...results, uploaded]) {
        if (file === "") continue
        await ended(vendor.json(`/files/${encodeURIComponent(file)}`, { method: "DELETE" }))
      }
    },
  }
}

function upload(vendor: BatchVendor, url: string, calls: readonly BatchCall[]): Promise<JsonObject> {
  const boundary = `wireworks-${randomBytes(16).toString("hex")}`
  const part = (name: string, value: string): string =>
    `--${boundary}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`
  const lines = calls.map(
    ({ custom_id, body }) =>
      `{"custom_id":${JSON.stringify(custom_id)},"method":"POST","url":${JSON.stringify(url)},"body":${body}}\n`,
  )
  const head = `--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="batch.jsonl"\r\ncontent-type: application/jsonl\r\n\r\n`
  const body = [
    part("purpose", "batch"),
    part("expires_after[anchor]", "created_at"),
    part("expires_after[seconds]", String(keptSeconds)),
    head,
    ...lines,
    `\r\n--${boundary}--\r\n`,
  ].join("")
  return vendor.json("/files", {
    method: "POST",
    body,
    headers: { "content-type": `multipart/form-data; boundary=${boundary}` },
  })
}

function idOf(batch: JsonObject): string {
  const id = textIn(batch, "id")
  if (id !== "") return id
  throw new BatchTrouble({ status: 502, body: JSON.stringify({ error: { message: "The batch has no id" } }) })
}

function problemOf(batch: JsonObject): string {
  const { data } = objectIn(batch, "errors")
  const [first] = Array.isArray(data) ? data : []
  const message = isJsonObject(first) ? textIn(first, "message") : ""
  return message === "" ? "" : `The model backend refused the batch: ${message}`
}

/** `response` is null for a call that was never made. */
function answerIn(line: JsonObject): BatchAnswer {
  const { response } = line
  if (isJsonObject(response)) {
    const status = numberIn(response, "status_code")
    return { status: status === 0 ? 200 : status, body: JSON.stringify(response["body"] ?? null) }
  }
  const error = objectIn(line, "error")
  const code = textIn(error, "code")
  const body = `The call was not made (${code}): ${textIn(error, "message")}`
  return { status: null, body, ...(code === "batch_cancelled" && { cancelled: true as const }) }
}

/** Null for a 404. */
export async function orMissing<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answer
  } catch (error) {
    if (error instanceof BatchTrouble && error.answer.status === 404) return null
    throw error
  }
}

/** A refusal says that there is nothing left to do. */
export async function ended(answer: Promise<unknown>): Promise<void> {
  try {
    await answer
  } catch (error) {
    if (!(error instanceof BatchTrouble) || (error.answer.status ?? 500) >= 500) throw error
  }
}
