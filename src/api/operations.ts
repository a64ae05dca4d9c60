import { apiRequests } from "../check/provider-kinds.ts"
import { route, type Route } from "./route.ts"
import { anyObject, string } from "../base/typed-schema.ts"

export const mcp = route({
  id: "mcp",
  method: "POST",
  path: "/mcp",
  group: "Workflows",
  summary: "Each workflow of the server's folder as a tool: MCP over streamable HTTP",
  description: "For MCP clients: `tools/list` names the workflows, `tools/call` runs one.",
  query: null,
  body: anyObject(),
  example: { jsonrpc: "2.0", id: 1, method: "tools/list" },
  answers: { 200: { description: "A JSON-RPC answer, or a stream of them." } },
  errors: ["not_found"],
})

export const playground = route({
  id: "playground",
  method: "GET",
  path: "/playground",
  group: "Operations",
  operators: true,
  summary: "The browser UI; `/` redirects there",
  description: "An editor that checks, runs and shows workflows. `WIRE_PLAYGROUND=off` switches it off.",
  query: null,
  answers: { 200: { description: "A page." } },
  errors: ["not_found"],
  open: "pages",
})

export const console = route({
  id: "console",
  method: "GET",
  path: "/console/{page}",
  group: "Operations",
  operators: true,
  summary: "The browser UI for the runs of the service; `/console` redirects to `/console/runs`",
  description:
    "Runs, questions, workflows, triggers and health of this service, by its public routes. `WIRE_PLAYGROUND=off` switches it off, too.",
  parameters: { page: "`runs`, `questions`, `workflows`, `triggers` or `health`." },
  query: null,
  answers: { 200: { description: "A page." } },
  errors: ["not_found"],
  open: "pages",
})

export const health = route({
  id: "health",
  method: "GET",
  path: "/healthz",
  group: "Operations",
  operators: true,
  summary: "Liveness",
  description:
    "Answers as long as the process does. Where several processes serve (`WIRE_PROCESSES`), it says how many do: `processes`.",
  query: null,
  answers: { 200: { description: "Alive." } },
  open: "anyone",
})

export const ready = route({
  id: "ready",
  method: "GET",
  path: "/readyz",
  group: "Operations",
  operators: true,
  summary: "Readiness: store reachable, not draining",
  description: "503 while the service is stopping, or cannot store runs.",
  query: null,
  answers: { 200: { description: "Ready." }, 503: { description: "Not ready." } },
  open: "anyone",
})

export const metrics = route({
  id: "metrics",
  method: "GET",
  path: "/metrics",
  group: "Operations",
  operators: true,
  summary: "Prometheus text",
  description: "For Prometheus. Needs a key where keys are set: one of the callers', or `WIRE_METRICS_KEY`.",
  query: null,
  answers: { 200: { description: "Metrics." } },
})

export const openapi = route({
  id: "openapi",
  method: "GET",
  path: "/openapi.json",
  group: "Operations",
  operators: true,
  summary: "The contract: OpenAPI 3.1",
  description: "OpenAPI 3.1, with a typed path for each workflow of the server's folder.",
  query: null,
  answers: { 200: { description: "The contract." } },
})

export const llms = route({
  id: "llms",
  method: "GET",
  path: "/llms.txt",
  group: "Operations",
  summary: "The language on one page, for coding agents",
  description:
    "What the language is, where each page is, and the whole language, written for a model that has to write workflows.",
  query: null,
  answers: { 200: { description: "Markdown.", content: { "text/plain": string() } } },
})

/** The demo model by each of the APIs. */
export const demoRoutes = Object.values(apiRequests)
  .flatMap(({ demo }) => demo ?? [])
  .map(({ id, path, title, parameters = {} }): Route => ({
    id,
    method: "POST",
    path,
    group: "Demo",
    summary: `The built-in demo model, by ${title}`,
    description:
      "Answers without a network and without a key, always the same to the same request. For trying out and for tests.",
    query: null,
    body: anyObject(),
    answers: { 200: { description: "As a backend of that API answers." }, 404: { description: "No such model." } },
    parameters,
  }))
