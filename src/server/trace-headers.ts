import type { FastifyRequest } from "fastify"
import { readBaggage } from "./read-baggage.ts"

/** At most what the standard says that everyone passes on. */
const isTracestate = /^[\x20-\x7e]{1,512}$/

/** The trace that the request belongs to; a malformed header counts as none, as the standard says. */
export function traceOf(request: FastifyRequest): { readonly traceparent?: string; readonly tracestate?: string } {
  const { traceparent, tracestate } = request.headers
  if (typeof traceparent !== "string") return {}
  const [, trace = "", span = ""] = /^00-([\da-f]{32})-([\da-f]{16})-[\da-f]{2}$/.exec(traceparent) ?? []
  if (!/[1-9a-f]/.test(trace) || !/[1-9a-f]/.test(span)) return {}
  return typeof tracestate === "string" && isTracestate.test(tracestate) ? { traceparent, tracestate } : { traceparent }
}

export function baggageOf(request: FastifyRequest): { readonly baggage?: string } {
  const baggage = readBaggage(request.headers["baggage"])
  return baggage === null ? {} : { baggage }
}
