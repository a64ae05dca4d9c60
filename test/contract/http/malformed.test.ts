import assert from "node:assert/strict"
import { describe, it } from "node:test"
import { errorStatus } from "../../../src/api/error-kinds.ts"
import type { ApiErrorKind } from "../../../src/api/error-kinds.ts"
import type { RawAnswer } from "../../support/raw-http.ts"
import { sendRaw } from "../../support/raw-http.ts"
import type { Route } from "./malformed-requests.ts"
import { malformedRequests } from "./malformed-requests.ts"
import { ada, hello, startService } from "./start-service.ts"
import { atStrength } from "../../support/strength.ts"

const source = { workflow_source: hello }
const get = (path: string, strictQuery = false): Route => ({
  method: "GET",
  path,
  body: null,
  fields: {},
  strictQuery,
  strictBody: true,
})

const routes: Route[] = [
  {
    method: "POST",
    path: "/execute",
    body: { ...source, input: ada },
    fields: { workflow_source: "string", input: "object", secrets: "object", options: "options" },
    strictQuery: true,
    strictBody: true,
  },
  {
    method: "POST",
    path: "/validate",
    body: source,
    fields: { workflow_source: "string", input: "object", secrets: "object" },
    strictQuery: true,
    strictBody: true,
  },
  {
    method: "POST",
    path: "/format",
    body: source,
    fields: { workflow_source: "string" },
    strictQuery: true,
    strictBody: true,
  },
  {
    method: "POST",
    path: "/cache/invalidate",
    body: { cache_key: "k" },
    fields: { cache_key: "string" },
    strictQuery: true,
    strictBody: true,
  },
  { method: "POST", path: "/execute/RUN/cancel", body: null, fields: {}, strictQuery: true, strictBody: true },
  {
    method: "POST",
    path: "/demo/v1/responses",
    body: { model: "demo", input: "hi" },
    fields: {},
    strictQuery: false,
    strictBody: false,
  },
  { ...get("/execute/RUN", true), alsoTakes: "DELETE" },
  get("/execute/RUN/events", true),
  get("/healthz"),
  get("/readyz"),
  get("/metrics"),
  get("/openapi.json"),
  get("/playground"),
]

const count = atStrength(60, 200)

describe("malformed requests of each route", async () => {
  const service = await startService()
  const done = await service.post("/execute", { ...source, input: ada })
  await done.json()
  const run_id = done.headers.get("x-service-run-id") ?? ""

  for (const [index, route] of routes.entries()) {
    it(`${route.method} ${route.path}: a documented refusal, never a 5xx, never silence`, async () => {
      const path = route.path.replace("RUN", run_id)
      const requests = malformedRequests({ ...route, path }, count, 20261115 + index)
      assert.ok(requests.length >= count)
      const wrong: string[] = []
      for (const { name, bytes, end, expect } of requests) {
        const what = `${name} (${JSON.stringify(bytes.subarray(0, 80).toString("latin1"))})`
        try {
          const { answers } = await sendRaw(service.port, bytes, { end })
          // A client that closes its half of a connection counts as gone: even a complete request need not be answered.
          const trouble = answers[0] === undefined && end && expect === "any" ? null : judge(answers[0], expect)
          if (trouble !== null) wrong.push(`${what}: ${trouble}`)
        } catch (error) {
          wrong.push(`${what}: ${String(error)}`)
        }
      }
      assert.deepEqual(wrong, [])
      assert.deepEqual(await (await service.get("/healthz")).json(), { status: "ok" })
    })
  }
})

function judge(answer: RawAnswer | undefined, expect: "refused" | "any"): string | null {
  if (answer === undefined) return "no answer"
  const { status, headers, body } = answer
  if (status >= 500) return `status ${status}: ${body}`
  if (status < 400) return expect === "refused" ? `accepted with ${status}: ${body.slice(0, 200)}` : null
  if (!(headers["content-type"] ?? "").startsWith("application/json")) return `no JSON: ${JSON.stringify(answer)}`
  const { error } = JSON.parse(body) as {
    error: { kind?: ApiErrorKind; message: string; issues: unknown; type?: string }
  }
  if (typeof error.message !== "string" || error.message === "") return `no message: ${body}`
  // The demo model answers in the shape of OpenAI's errors.
  if (error.kind === undefined) return error.type === undefined ? `no kind: ${body}` : null
  if (errorStatus[error.kind] !== status) return `kind ${error.kind} with status ${status}`
  return Array.isArray(error.issues) ? null : `no issues: ${body}`
}
