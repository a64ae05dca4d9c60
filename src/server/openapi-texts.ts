import type { JsonObject, JsonValue } from "../base/json-value.ts"

// What /openapi.json says of each operation in words and by example. docs/http.md says all of it.

export interface OperationText {
  readonly description: string
  /** A body that the service takes. */
  readonly example?: JsonValue
}

const source = `input {
    name: string
}

output {
    greeting: "Hello, {{ input.name }}!"
}
`

const demo: OperationText = {
  description:
    "Answers without a network and without a key, always the same to the same request. For trying out and for tests.",
}

/** By `operationId`. */
const operationTexts: Readonly<Record<string, OperationText>> = {
  execute: {
    description:
      "Checks the source, the input and the secrets, then runs the workflow. JSON mode answers with the output when the run ends; with " +
      "`Accept: text/event-stream` the answer is the stream of its events. With an `Idempotency-Key` a repeated request finds the first one's run.",
    example: { workflow_source: source, input: { name: "Ada" }, options: { timeout_ms: 60_000 } },
  },
  getRun: { description: "Status, output or error, usage and times of a run, as long as it is kept." },
  followRun: {
    description:
      "Every event after the cursor, then those to come, up to the terminal one. A dropped connection goes on with `Last-Event-ID`.",
  },
  listQuestionsOfRun: { description: "Open questions and settled ones, with their answers." },
  answerQuestion: {
    description:
      "The first answer counts. An approval also needs the question's `digest`: what is approved is what was seen.",
    example: { answer: { publish: true }, by: "ann" },
  },
  listQuestions: { description: "Questions of the caller's own runs, and those to groups that the caller belongs to." },
  cancelRun: { description: "Repeats are harmless. Calls that are under way are aborted." },
  rerun: {
    description:
      "Steps whose facts are the same as in the earlier run keep their results; the others run. Source, input and secrets can be replaced.",
    example: { input: { name: "Ada" }, from: ["agent.write"] },
  },
  validate: {
    description:
      "Checks the source without running it. Returns all diagnostics, with their places and hints, and the plan when there is no error.",
    example: { workflow_source: source, input: { name: "Ada" } },
  },
  format: { description: "The source in its canonical layout. Runs nothing.", example: { workflow_source: source } },
  listWorkflows: { description: "Names, descriptions, types and versions; of a file that is refused, why." },
  getWorkflow: { description: "What the list has, and the source and the plan." },
  executeWorkflow: {
    description:
      "As `execute`, with the source of the server. Each workflow also has a path of its own here, with its types.",
    example: { input: { name: "Ada" } },
  },
  listRuns: { description: "A page at a time; `next` is the cursor of the page after it." },
  mcp: {
    description: "For MCP clients: `tools/list` names the workflows, `tools/call` runs one.",
    example: { jsonrpc: "2.0", id: 1, method: "tools/list" },
  },
  invalidateCache: {
    description: "Drops the cached answers of the caller under this cache key.",
    example: { cache_key: "tenant-1:42" },
  },
  playground: {
    description: "An editor that checks, runs and shows workflows. `WIRE_PLAYGROUND=off` switches it off.",
  },
  health: { description: "Answers as long as the process does." },
  ready: { description: "503 while the service is stopping, or cannot store runs." },
  metrics: {
    description: "For Prometheus. Needs a key where keys are set: one of the callers', or `WIRE_METRICS_KEY`.",
  },
  openapi: { description: "OpenAPI 3.1, with a typed path for each workflow of the server's folder." },
  demo,
  demoChat: demo,
  demoMessages: demo,
  demoGenerateContent: demo,
}

/** The operation with its text, and its example at the JSON body. */
export function withText(operation: JsonObject): JsonObject {
  const id = operation["operationId"]
  const text = typeof id === "string" ? operationTexts[id] : undefined
  if (text === undefined) return { description: operation["summary"] ?? "", ...operation }
  const described = { description: text.description, ...operation }
  const { requestBody } = described as { readonly requestBody?: { readonly content?: Record<string, JsonObject> } }
  const json = requestBody?.content?.["application/json"]
  if (text.example === undefined || requestBody === undefined || json === undefined) return described
  const content = { ...requestBody.content, "application/json": { ...json, example: text.example } }
  return { ...described, requestBody: { ...requestBody, content } }
}
