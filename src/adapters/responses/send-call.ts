import { isTooMuchJson, jsonOf } from "../../base/bounded-json.ts"
import { isJsonObject } from "../../base/is-json-object.ts"
import type { Egress, EgressLimits, EgressResponse } from "../../ports/egress.ts"
import type { ModelWatch } from "../../ports/model.ts"
import { readAnswer, type Answer } from "./read-answer.ts"
import { StreamReader } from "./read-stream.ts"
import { turnForAnswer } from "../model-turn/turn-for.ts"
import { countHeld } from "../model-turn/count-held.ts"
import { readRest } from "../model-turn/read-rest.ts"
import { readUpTo } from "../model-turn/read-up-to.ts"
import { readRetryAfter } from "../model-turn/retry-delay.ts"
import { streamLimits } from "../model-turn/stream-limits.ts"
import { brokenAnswer, readUpstreamError, tooManyValues, UpstreamFailure } from "../model-turn/upstream-failure.ts"

export interface Call {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** JSON text. */
  readonly body: string
  readonly attempt: number
  readonly stream: boolean
  readonly limits: EgressLimits
}

/** How much of an error's body is read. */
const largestError = 64 * 1024

/** One call of the backend: a whole answer, or an `UpstreamFailure`, or what egress throws. */
export async function sendCall(egress: Egress, call: Call, watch: ModelWatch, now: () => number): Promise<Answer> {
  const response = await egress.request({
    url: call.url,
    method: "POST",
    headers: call.headers,
    body: call.body,
    signal: watch.signal,
    gate: watch.gate,
    arrival: watch.arrival,
    limits: call.stream ? streamLimits(call.limits) : call.limits,
  })
  const retryAfterMs = readRetryAfter(response.headers, now())
  if (response.status < 200 || response.status > 299) {
    const body = jsonOf(await readUpTo(response, largestError))
    throw new UpstreamFailure(readUpstreamError(response.status, body, retryAfterMs, watch))
  }
  const type = (response.headers["content-type"] ?? "").toLowerCase()
  if (type.startsWith("text/event-stream")) return readEvents(response, call, watch, retryAfterMs)
  const text = await response.text()
  const turn = turnForAnswer(text, watch)
  if (turn !== null) await turn
  // A stream under another name.
  if (/^\s*(?:event|data|:)/.test(text)) return readEventText(text, call, watch, retryAfterMs)
  if (isTooMuchJson(text)) throw tooManyValues()
  const body = jsonOf(text)
  if (!isJsonObject(body))
    throw brokenAnswer(`The model backend answered ${shortType(type)} where JSON was expected`, false)
  return readAnswer(body, retryAfterMs, watch)
}

async function readEvents(
  response: EgressResponse,
  call: Call,
  watch: ModelWatch,
  retryAfterMs: number | null,
): Promise<Answer> {
  const { reader, flush } = startReader(call, watch)
  const chunks = response.body[Symbol.asyncIterator]()
  const count = countHeld(watch.arrival)
  while (true) {
    const { done, value } = await chunks.next()
    if (done === true) break
    if (reader.feed(value)) {
      void readRest(chunks, response)
      break
    }
    const room = count(reader.held)
    if (room !== null) await room
  }
  const answer = reader.finish(retryAfterMs)
  flush()
  return answer
}

function readEventText(text: string, call: Call, watch: ModelWatch, retryAfterMs: number | null): Answer {
  const { reader, flush } = startReader(call, watch)
  reader.feed(Buffer.from(text))
  const answer = reader.finish(retryAfterMs)
  flush()
  return answer
}

function startReader(call: Call, watch: ModelWatch): { reader: StreamReader; flush: () => void } {
  const redacted = watch.redactStream()
  const show = (text: string): void => {
    if (call.stream && text !== "") watch.delta(call.attempt, text)
  }
  const reader = new StreamReader(watch, call.limits.max_bytes, (text) => show(redacted.push(text)))
  return { reader, flush: () => show(redacted.end()) }
}

function shortType(type: string): string {
  return /^[\w.+-]+\/[\w.+-]+/.exec(type)?.[0] ?? "something of no known type"
}
