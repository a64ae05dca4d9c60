import type { FastifyInstance } from "fastify"
import { getWorkflow } from "../api/workflows.ts"
import { patternOf } from "./serve-route.ts"
import type { RequestMetrics, ServerOptions } from "./server-options.ts"

const ofWorkflow = patternOf(getWorkflow.path)

/** The workflow that a request to OpenAI's APIs names. */
function modelOf(body: unknown): unknown {
  return typeof body === "object" && body !== null && "model" in body ? body.model : null
}

/** Streams too: their requests are answered when the stream ends. */
export function countRequests(app: FastifyInstance, metrics: RequestMetrics, folder: ServerOptions["folder"]): void {
  app.addHook("onResponse", (request, reply, done) => {
    const { url } = request.routeOptions
    const name = url === ofWorkflow ? (request.params as { "*": string })["*"] : modelOf(request.body)
    const known = typeof name === "string" ? name.replace(/\/(?:execute|ag-ui)$/, "") : null
    // Only names that exist: what callers write would be as many labels as they like.
    const workflow = known === null || folder?.get(known) === undefined ? null : known
    metrics.answered(request.method, url ?? null, reply.raw.statusCode, reply.elapsedTime, workflow)
    done()
  })
}
