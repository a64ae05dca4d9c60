import { openGate } from "../../ports/gate.ts"
import type { Egress, EgressRequest, EgressResponse } from "../../ports/egress.ts"

export type Redirects = "follow" | "manual" | "error"

type Send = (request: EgressRequest, redirect: Redirects) => Promise<EgressResponse>

const neverAborted = new AbortController().signal

/** Egress as a `fetch`. It rejects with the errors of egress, which say more than a `TypeError`. */
export function toFetch(send: Send): Egress["fetch"] {
  return async (url, init = {}, { bodyStays = false, arrival, ...limits } = {}, gate = openGate) => {
    const headers = new Headers(init.headers)
    const body = readBody(init.body ?? null, headers)
    const method = (init.method ?? "GET").toUpperCase()
    const response = await send(
      {
        url: String(url),
        method,
        headers: Object.fromEntries(headers),
        body,
        signal: init.signal ?? neverAborted,
        gate,
        limits,
        bodyStays,
        arrival,
      },
      init.redirect ?? "follow",
    )
    const empty = method === "HEAD" || [204, 205, 304].includes(response.status)
    const result = new Response(empty ? null : streamOf(response), {
      status: response.status,
      headers: { ...response.headers },
    })
    Object.defineProperty(result, "url", { value: response.url })
    return result
  }
}

function readBody(body: NonNullable<RequestInit["body"]> | null, headers: Headers): string | Uint8Array | null {
  if (body === null) return null
  if (typeof body === "string") {
    if (!headers.has("content-type")) headers.set("content-type", "text/plain;charset=UTF-8")
    return body
  }
  if (body instanceof URLSearchParams) {
    if (!headers.has("content-type")) headers.set("content-type", "application/x-www-form-urlencoded;charset=UTF-8")
    return body.toString()
  }
  if (body instanceof Uint8Array) return body
  if (body instanceof ArrayBuffer) return new Uint8Array(body)
  throw new TypeError("A body sent through egress is text, bytes or form parameters: a redirect may have to repeat it")
}

function streamOf(response: EgressResponse): ReadableStream<Uint8Array> {
  const chunks = response.body[Symbol.asyncIterator]()
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await chunks.next()
      if (done === true) controller.close()
      else controller.enqueue(value)
    },
    cancel() {
      response.discard()
    },
  })
}
