import { setImmediate as nextTurn } from "node:timers/promises"
import type { LanguageModelV4GenerateResult, LanguageModelV4StreamResult } from "@ai-sdk/provider"
import { streamLimits } from "../model-turn/stream-limits.ts"
import { isJsonObject } from "../../base/is-json-object.ts"
import { isTooMuchJson, JsonWork } from "../../base/json-work.ts"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import type { Egress, EgressResponse } from "../../ports/egress.ts"
import { EgressFailure } from "../../ports/egress.ts"
import { RunFailure } from "../../ports/run-failure.ts"
import { turnForAnswer } from "../model-turn/turn-for.ts"
import type { Call } from "../model-turn/model-api.ts"
import { WithoutFields } from "../model-turn/without-fields.ts"
import { readUpTo } from "../model-turn/read-up-to.ts"
import { readRetryAfter } from "../model-turn/retry-delay.ts"
import {
  brokenAnswer,
  readInnerError,
  readUpstreamError,
  tooManyValues,
  UpstreamFailure,
} from "../model-turn/upstream-failure.ts"
import type { Dialect, Fetch } from "./dialect.ts"
import { modelPackageValues, modelWithProbabilities } from "../../base/limits.ts"

export interface ExchangeParts {
  readonly dialect: Pick<Dialect, "problem">
  readonly egress: Egress
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly call: Call
  readonly stream: boolean
  readonly finish: (body: JsonObject) => JsonObject
}

/** The answer came whole where a stream was asked for, or the reverse. */
class OtherForm extends Error {}

/** How much of an error's body is read. */
const largestError = 64 * 1024

/** Fields of choices that no package reads: log probabilities, which a workflow can ask for with `extra`. */
const unread = ["logprobs", "logprobsResult"]

/** Bytes of a stream that are read before others have their turn: hundreds of small events. */
const bytesPerTurn = 16 * 1024

/**
 * One HTTP exchange between a package and egress. Address, headers and the rest of the body are ours; failures are
 * kept here, because packages wrap or swallow what their `fetch` throws.
 */
export class Exchange {
  readonly #parts: ExchangeParts
  #failure: unknown = null
  /** An answer in the other form, to be read again. */
  #replay: { readonly body: string; readonly stream: boolean } | null = null

  constructor(parts: ExchangeParts) {
    this.#parts = parts
  }

  /** Asks in the wanted form, and reads the answer in the form in which it came. */
  async open(
    stream: boolean,
    ask: (stream: boolean) => PromiseLike<LanguageModelV4GenerateResult | LanguageModelV4StreamResult>,
  ): Promise<LanguageModelV4GenerateResult | LanguageModelV4StreamResult> {
    try {
      return await ask(stream)
    } catch (error) {
      if (this.#replay === null) throw error
      return ask(this.#replay.stream)
    }
  }

  readonly fetch: Fetch = async (_, init) => {
    const replay = this.#replay
    if (replay !== null) return respond(replay.body, replay.stream)
    try {
      return await this.#exchange(init?.body)
    } catch (error) {
      this.#failure = error
      throw error
    }
  }

  /** What really went wrong. */
  failureOf(error: unknown): unknown {
    const failure = this.#failure instanceof OtherForm ? null : this.#failure
    for (const candidate of [failure, error, error instanceof Error ? error.cause : null]) {
      if (candidate instanceof UpstreamFailure || candidate instanceof EgressFailure) return candidate
      if (candidate instanceof RunFailure) return candidate
    }
    if (failure !== null) return failure
    // The packages validate what they read: the answer is not what the API's answers look like.
    return brokenAnswer("The answer of the model backend could not be read", true)
  }

  async #exchange(given: unknown): Promise<Response> {
    const { dialect, egress, url, headers, call, stream, finish } = this.#parts
    const { watch, limits, now } = call
    if (typeof given !== "string") throw new Error("The package sent no JSON")
    const body = JSON.stringify(finish(JSON.parse(given) as JsonObject))
    const response = await egress.request({
      url,
      method: "POST",
      headers,
      body,
      signal: watch.signal,
      gate: watch.gate,
      limits: stream ? streamLimits(limits) : { ...limits, max_bytes: limits.max_bytes * modelWithProbabilities },
    })
    const retryAfterMs = readRetryAfter(response.headers, now())
    if (response.status < 200 || response.status > 299) {
      const error = parse(await readUpTo(response, largestError))
      throw new UpstreamFailure(readUpstreamError(response.status, error, retryAfterMs, watch))
    }
    const type = (response.headers["content-type"] ?? "").toLowerCase()
    if (type.startsWith("text/event-stream") && stream) return this.#streamed(response)
    const text = await readWhole(response, limits.max_bytes)
    const turn = turnForAnswer(text, watch)
    if (turn !== null) await turn
    const isStream = type.startsWith("text/event-stream") || /^\s*(?:event|data|:)/.test(text)
    if (!isStream) {
      const whole = this.#checked(text, type, retryAfterMs, dialect)
      if (!stream) return respond(JSON.stringify(whole), false)
      this.#replay = { body: JSON.stringify(whole), stream: false }
      throw new OtherForm()
    }
    if (!new JsonWork(modelPackageValues).addEvents(Buffer.from(text))) throw tooManyValues()
    if (stream) return respond(text, true)
    this.#replay = { body: text, stream: true }
    throw new OtherForm()
  }

  #checked(text: string, type: string, retryAfterMs: number | null, dialect: ExchangeParts["dialect"]): JsonObject {
    const { watch } = this.#parts.call
    if (isTooMuchJson(text, modelPackageValues)) throw tooManyValues()
    const parsed = parse(text)
    const body = Array.isArray(parsed) && parsed.length === 1 ? parsed[0] : parsed
    if (!isJsonObject(body)) {
      const short = /^[\w.+-]+\/[\w.+-]+/.exec(type)?.[0] ?? "something of no known type"
      throw brokenAnswer(`The model backend answered ${short} where JSON was expected`, false)
    }
    if (isJsonObject(body["error"]) || (typeof body["error"] === "string" && body["error"] !== "")) {
      throw new UpstreamFailure(readInnerError(body, retryAfterMs, watch))
    }
    const problem = dialect.problem(body)
    if (problem !== null) throw brokenAnswer(problem, false)
    return watch.redact(body)
  }

  /** The body as the package wants it. The failure that breaks it off is kept. */
  #streamed(response: EgressResponse): Response {
    const events = withFewValues(piecesInTurns(response.body), this.#parts.call.limits.max_bytes)
    return eventStream(events, {
      broken: (error) => {
        this.#failure = error
        response.discard()
      },
      cancelled: () => response.discard(),
    })
  }
}

const lineFeed = 0x0a
const carriageReturn = 0x0d

/** Bytes since the last end of an event. The packages keep an event that has not ended, and search it again with each piece. */
class EventSize {
  #size = 0
  #atLineStart = true

  add(piece: Uint8Array): number {
    for (const byte of piece) {
      this.#size++
      if (byte === lineFeed) {
        if (this.#atLineStart) this.#size = 0
        this.#atLineStart = true
      } else if (byte !== carriageReturn) this.#atLineStart = false
    }
    return this.#size
  }
}

/** The text of an answer in one piece, without the fields that nobody reads. */
async function readWhole(response: EgressResponse, max_bytes: number): Promise<string> {
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
    }
  }
  const text = Buffer.concat(kept).toString("utf8")
  return text.startsWith("\uFEFF") ? text.slice(1) : text
}

/** The packages read what has come without a rest, however much it is. */
async function* piecesInTurns(
  body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): AsyncGenerator<Uint8Array, undefined> {
  for await (const chunk of body) {
    for (let at = 0; at < chunk.length; at += bytesPerTurn) {
      await nextTurn()
      yield chunk.subarray(at, at + bytesPerTurn)
    }
  }
}

/** The pieces of a stream's body, until an event holds too many values or is too large. */
async function* withFewValues(
  pieces: AsyncIterable<Uint8Array>,
  max_bytes: number,
): AsyncGenerator<Uint8Array, undefined> {
  const values = new JsonWork(modelPackageValues)
  const size = new EventSize()
  for await (const piece of pieces) {
    if (!values.addEvents(piece)) throw tooManyValues()
    if (size.add(piece) > max_bytes) throw brokenAnswer("An event of the stream is too large", false)
    yield piece
  }
}

function respond(text: string, stream: boolean): Response {
  if (stream) return eventStream(piecesInTurns([Buffer.from(text)]))
  return new Response(text, { headers: { "content-type": "application/json" } })
}

interface StreamEnds {
  readonly broken: (error: unknown) => void
  readonly cancelled: () => void
}

function eventStream(pieces: AsyncIterator<Uint8Array, undefined>, ends?: StreamEnds): Response {
  const body = new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      try {
        const { done, value } = await pieces.next()
        if (done === true) controller.close()
        else controller.enqueue(value)
      } catch (error) {
        ends?.broken(error)
        controller.error(error)
      }
    },
    cancel: () => ends?.cancelled(),
  })
  return new Response(body, { headers: { "content-type": "text/event-stream" } })
}

function parse(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue
  } catch {
    return undefined
  }
}
