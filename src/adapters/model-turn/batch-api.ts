import type { BatchAnswer } from "../../ports/batch-seat.ts"
import { isJsonObject } from "../../base/is-json-object.ts"
import { jsonOf } from "../../base/bounded-json.ts"
import type { JsonObject } from "../../base/json-value.ts"
import { batchResultBytes } from "../../base/limits.ts"
import { EgressFailure, type Egress } from "../../ports/egress.ts"
import type { Gate } from "../../ports/gate.ts"
import {
  BatchTrouble,
  type BatchCall,
  type BatchLook,
  type BatchSearch,
  type BatchSubmission,
  type BatchTarget,
} from "../../ports/model-batches.ts"
import { RunFailure } from "../../ports/run-failure.ts"
import { readRetryAfter } from "./retry-delay.ts"

/** A vendor's batch API, as one of the model APIs has it. */
export interface BatchApi {
  submit(vendor: BatchVendor, id: string, calls: readonly BatchCall[]): Promise<string>
  find(vendor: BatchVendor, id: string, calls: number, since: number): Promise<BatchSearch>
  look(vendor: BatchVendor, provider_id: string): Promise<BatchLook | null>
  results(
    vendor: BatchVendor,
    provider_id: string,
    look: BatchLook,
    take: (custom_id: string, answer: BatchAnswer) => void,
  ): Promise<void>
  cancel(vendor: BatchVendor, provider_id: string): Promise<void>
  remove(vendor: BatchVendor, provider_id: string, look: BatchLook): Promise<void>
}

interface Sending {
  readonly method?: "GET" | "POST" | "DELETE"
  readonly body?: string
  readonly headers?: Readonly<Record<string, string>>
}

const callMs = 120_000
const largestAnswer = 16 * 1024 * 1024
const largestError = 64 * 1024

/** The vendor, as one caller calls it. */
export class BatchVendor {
  readonly #egress: Egress
  readonly #endpoint: string
  readonly #headers: Readonly<Record<string, string>>
  readonly #signal: AbortSignal
  readonly #gate: Gate
  readonly #now: () => number
  #aheadMs = 0

  constructor(
    egress: Egress,
    endpoint: string,
    headers: Readonly<Record<string, string>>,
    { signal, gate }: Pick<BatchTarget, "signal" | "gate">,
    now: () => number,
  ) {
    this.#egress = egress
    this.#endpoint = endpoint.endsWith("/") ? endpoint.slice(0, -1) : endpoint
    this.#headers = headers
    this.#signal = signal
    this.#gate = gate
    this.#now = now
  }

  /** Milliseconds by which the clock of the vendor is ahead of ours, as far as its last answer told. */
  get aheadMs(): number {
    return this.#aheadMs
  }

  /** The JSON of an answer. Rejects with a `BatchTrouble` for a status that is none of success. */
  async json(path: string, sending: Sending = {}): Promise<JsonObject> {
    const response = await this.#request(path, sending, largestAnswer)
    const text = await response.text()
    const body = jsonOf(text)
    if (isJsonObject(body)) return body
    throw new BatchTrouble({ status: 502, body: JSON.stringify({ error: { message: "The answer is not JSON" } }) })
  }

  /** The lines of an answer, one after the other, until `take` has enough. */
  async lines(path: string, take: (line: JsonObject) => void | "enough"): Promise<void> {
    const response = await this.#request(path, {}, batchResultBytes)
    const decoder = new TextDecoder()
    let rest = ""
    const takeLine = (line: string): boolean => {
      const value = line.trim() === "" ? undefined : jsonOf(line)
      return isJsonObject(value) && take(value) === "enough"
    }
    for await (const chunk of response.body) {
      const pieces = (rest + decoder.decode(chunk, { stream: true })).split("\n")
      rest = pieces.pop() ?? ""
      if (pieces.some(takeLine)) return response.discard()
    }
    takeLine(rest + decoder.decode())
  }

  async #request(path: string, { method = "GET", body, headers = {} }: Sending, max_bytes: number) {
    const response = await this.#egress.request({
      url: `${this.#endpoint}${path}`,
      method,
      headers: { accept: "application/json", "content-type": "application/json", ...this.#headers, ...headers },
      body: body ?? null,
      signal: this.#signal,
      gate: this.#gate,
      bodyStays: true,
      limits: { firstByteMs: callMs, silenceMs: callMs, totalMs: 5 * callMs, max_bytes },
    })
    const date = Date.parse(response.headers["date"] ?? "")
    if (!Number.isNaN(date)) this.#aheadMs = date - this.#now()
    if (response.status >= 200 && response.status <= 299) return response
    const retryAfterMs = readRetryAfter(response.headers, this.#now())
    const text = await response.text().catch(() => "")
    throw new BatchTrouble({ status: response.status, body: text.slice(0, largestError) }, retryAfterMs)
  }
}

/** What came of creating a batch. */
export async function submission(submit: () => Promise<string>, signal: AbortSignal): Promise<BatchSubmission> {
  try {
    return { outcome: "accepted", provider_id: await submit() }
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof BatchTrouble) {
      const { answer } = error
      const status = answer.status ?? 0
      if (status === 404 || status === 405 || status === 501) return { outcome: "refused" }
      if ((status === 429 || status === 529) && !answer.body.includes("insufficient_quota"))
        return { outcome: "busy", retryAfterMs: error.retryAfterMs }
      const isSure = status >= 400 && status < 500 && status !== 408
      return { outcome: isSure ? "failed" : "unknown", answer }
    }
    if (error instanceof EgressFailure) return { outcome: "unknown", answer: { status: null, body: error.message } }
    // A destination that the policy forbids.
    if (error instanceof RunFailure) throw error
    throw error
  }
}

export function textIn(object: JsonObject, name: string): string {
  const value = object[name]
  return typeof value === "string" ? value : ""
}

export function numberIn(object: JsonObject, name: string): number {
  const value = object[name]
  return typeof value === "number" && Number.isFinite(value) ? value : 0
}

export function objectIn(object: JsonObject, name: string): JsonObject {
  const value = object[name]
  return isJsonObject(value) ? value : {}
}
