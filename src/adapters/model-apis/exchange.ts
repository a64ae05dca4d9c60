import type { BatchAnswer } from "../../ports/batch-seat.ts"
import { nextTurn } from "../../event-loop/in-turns.ts"
import { isJsonObject } from "../../base/is-json-object.ts"
import { isTooMuchJson, jsonOf } from "../../base/bounded-json.ts"
import type { JsonObject } from "../../base/json-value.ts"
import type { Arrival, Egress, EgressLimits, EgressResponse } from "../../ports/egress.ts"
import { turnForAnswer } from "../model-turn/turn-for.ts"

import type { Call } from "../model-turn/model-api.ts"
import { WithoutFields } from "../model-turn/without-fields.ts"
import { readRest } from "../model-turn/read-rest.ts"
import { readExhausted, readRetryAfter } from "../model-turn/retry-delay.ts"
import { brokenAnswer, readUpstreamError, tooManyValues, UpstreamFailure } from "../model-turn/upstream-failure.ts"
import { foldEvents, type Folded } from "./fold-events.ts"
import { modelAnswerValues, modelWithProbabilities } from "../../base/limits.ts"

export interface ExchangeParts<T> {
  readonly dialect: Folded
  readonly egress: Egress
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly stable_bytes?: number | null
  readonly call: Call
  /** A stream is asked for. */
  readonly stream: boolean
  /** Reads the whole body. */
  readonly read: (body: JsonObject, retryAfterMs: number | null) => T
}

/** How much of an error's body is read. */
const largestError = 64 * 1024

/** Fields of choices that nobody reads: log probabilities, which a workflow can ask for with `extra`. */
export const logProbabilities = ["logprobs", "logprobsResult"]

/** Bytes of a stream that are read before others have their turn: hundreds of small events. */
const bytesPerTurn = 16 * 1024

/** One HTTP exchange with a backend, to the end of its answer. A streamed one is put together. Throws an `UpstreamFailure`, or what egress throws. */
export async function exchange<T>(parts: ExchangeParts<T>): Promise<T> {
  const { dialect, egress, url, headers, body, stable_bytes, call, stream, read } = parts
  const { unread } = dialect
  const isFiltered = unread.length > 0
  const { watch, limits } = call
  call.sent?.({ url, headers, body, ...(typeof stable_bytes === "number" && { stable_bytes }) })
  if (call.made !== undefined) return readMade(call.made, call, read)
  const response = await egress.request({
    url,
    method: "POST",
    headers,
    body,
    signal: watch.signal,
    gate: watch.gate,
    arrival: watch.arrival,
    limits: stream
      ? streamLimits(limits)
      : isFiltered
        ? { ...limits, max_bytes: limits.max_bytes * modelWithProbabilities }
        : limits,
  })
  const retryAfterMs = await accepted(response, call)
  const type = (response.headers["content-type"] ?? "").toLowerCase()
  // A backend may stream where a whole answer was asked for, and the reverse.
  if (type.startsWith("text/event-stream")) return read(await streamed(response, parts), retryAfterMs)
  const text = isFiltered ? await readWhole(response, unread, limits.max_bytes, watch.arrival) : await response.text()
  const turn = turnForAnswer(text, watch)
  if (turn !== null) await turn
  // A stream under another name.
  if (/^\s*(?:event|data|:)/.test(text)) return read(await folded([Buffer.from(text)].values(), parts), retryAfterMs)
  return read(parsed(text, type, isFiltered), retryAfterMs)
}

/** How long the backend asks to wait, of an answer that is a success. Throws an `UpstreamFailure` for any other. */
export async function accepted(response: EgressResponse, { watch, now, exhausted }: Call): Promise<number | null> {
  const retryAfterMs = readRetryAfter(response.headers, now())
  const exhaustedMs = exhausted === undefined ? null : readExhausted(response.headers)
  if (exhaustedMs !== null) exhausted?.(exhaustedMs)
  if (response.status >= 200 && response.status <= 299) return retryAfterMs
  const error = jsonOf(await readUpTo(response, largestError))
  throw new UpstreamFailure(readUpstreamError(response.status, error, retryAfterMs, watch))
}

/** The answer of a call that was made in a batch. */
async function readMade<T>({ status, body }: BatchAnswer, { watch }: Call, read: ExchangeParts<T>["read"]): Promise<T> {
  if (status === null) {
    const message = watch.redact(body)
    throw new UpstreamFailure({ status: null, code: null, param: null, message, retryable: true, retryAfterMs: null })
  }
  if (status < 200 || status > 299) throw new UpstreamFailure(readUpstreamError(status, jsonOf(body), null, watch))
  const turn = turnForAnswer(body, watch)
  if (turn !== null) await turn
  return read(parsed(body, "application/json", false), null)
}

/** What was not asked for as a stream is not shown as one. */
function folded(
  pieces: AsyncIterator<Uint8Array> | Iterator<Uint8Array>,
  { dialect, call, stream }: ExchangeParts<unknown>,
): Promise<JsonObject> {
  return foldEvents(pieces, { dialect, call, show: stream })
}

async function streamed(response: EgressResponse, parts: ExchangeParts<unknown>): Promise<JsonObject> {
  const pieces = announced(response.body, parts.call)[Symbol.asyncIterator]()
  try {
    const whole = await folded(pieces, parts)
    void readRest(pieces, response)
    return whole
  } catch (error) {
    response.discard()
    throw error
  }
}

/** Tells of the first piece. */
function announced(pieces: EgressResponse["body"], { watch }: Call): AsyncIterable<Uint8Array> {
  return watch.began === undefined ? pieces : announcing(pieces, watch)
}

async function* announcing(pieces: EgressResponse["body"], watch: Call["watch"]): AsyncGenerator<Uint8Array> {
  for await (const piece of pieces) {
    watch.began?.()
    yield piece
  }
}

function parsed(text: string, type: string, isFiltered: boolean): JsonObject {
  if (isFiltered ? isTooMuchJson(text, modelAnswerValues) : isTooMuchJson(text)) throw tooManyValues()
  const value = jsonOf(text)
  // Google's API may put an answer in an array.
  const body = Array.isArray(value) && value.length === 1 ? value[0] : value
  if (isJsonObject(body)) return body
  const short = /^[\w.+-]+\/[\w.+-]+/.exec(type)?.[0] ?? "something of no known type"
  throw brokenAnswer(`The model backend answered ${short} where JSON was expected`, false)
}

/** The text of an answer in one piece, without the fields that nobody reads. */
async function readWhole(
  response: EgressResponse,
  unread: readonly string[],
  max_bytes: number,
  arrival: Arrival | undefined,
): Promise<string> {
  const filter = new WithoutFields(unread)
  const kept: Uint8Array[] = []
  let size = 0
  let sinceTurn = 0
  let isJson: boolean | null = null
  for await (const chunk of response.body) {
    for (let at = 0; at < chunk.length; at += bytesPerTurn) {
      const piece = chunk.subarray(at, at + bytesPerTurn)
      if (sinceTurn >= bytesPerTurn) {
        await nextTurn()
        sinceTurn = 0
      }
      sinceTurn += piece.length
      // Anything else may have quotes that do not belong to a string.
      isJson ??= /^\uFEFF?\s*[{[]/.test(Buffer.from(piece).toString("utf8"))
      const rest = isJson ? filter.take(piece) : piece
      size += rest.length
      if (size > max_bytes) {
        response.discard()
        throw brokenAnswer(`The model backend answered with more than ${max_bytes} bytes`, false)
      }
      kept.push(rest)
      const room = arrival?.add(rest.length)
      if (room) await room
    }
  }
  const text = Buffer.concat(kept).toString("utf8")
  return text.startsWith("\uFEFF") ? text.slice(1) : text
}

/** An event of a stream wraps a few characters of text into hundreds of bytes. */
const overhead = 16

/** The limits of a streamed answer on the wire: its text may be as long as that of an answer in one piece. */
function streamLimits(limits: EgressLimits): EgressLimits {
  return { ...limits, max_bytes: limits.max_bytes * overhead }
}

/** The beginning of an error's body. */
async function readUpTo(response: EgressResponse, bytes: number): Promise<string> {
  const chunks: Uint8Array[] = []
  let length = 0
  try {
    for await (const chunk of response.body) {
      chunks.push(chunk)
      length += chunk.length
      if (length > bytes) break
    }
  } catch {
    // The status is known; the rest of the body is not worth another error.
  }
  return Buffer.concat(chunks).toString("utf8")
}
