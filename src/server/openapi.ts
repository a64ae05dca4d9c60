import * as requests from "../api/request-schemas.ts"
import { responseComponents } from "../api/response-schemas.ts"
import { eventComponents } from "../api/event-schemas.ts"
import { isJsonObject } from "../base/is-json-object.ts"
import type { JsonObject } from "../base/json-value.ts"
import type { NamedWorkflow } from "../workflows/workflow-folder.ts"
import type { ExecuteShapes } from "./openapi-workflows.ts"
import { workflowPaths } from "./openapi-workflows.ts"
import { describeOperations, tags } from "./openapi-tags.ts"
import { openObjects } from "./open-objects.ts"
import { sourceTypes } from "./read-body.ts"

const json = (schema: JsonObject): JsonObject => ({ "application/json": { schema } })
const named = (name: string): JsonObject => ({ $ref: `#/components/schemas/${name}` })
const answer = (description: string, content?: JsonObject): JsonObject =>
  content === undefined ? { description } : { description, content }
const failures = (...statuses: number[]): JsonObject =>
  Object.fromEntries(statuses.map((status) => [String(status), answer("See `error.kind`.", json(named("Error")))]))

const text: JsonObject = { schema: { type: "string" } }
const source = (schema: JsonObject): JsonObject => ({
  required: true,
  content: { "application/json": { schema }, ...Object.fromEntries(sourceTypes.map((type) => [type, text])) },
})
const body = (schema: JsonObject): JsonObject => ({ required: true, content: json(schema) })
const runId: JsonObject = { name: "run_id", in: "path", required: true, schema: { type: "string" } }
const eventStream: JsonObject = {
  "text/event-stream": {
    schema: {
      type: "string",
      description: "Server-sent events, each with an `id`, its type as `event`, and JSON as `data`: see `Event`.",
      contentMediaType: "text/event-stream",
      contentSchema: named("Event"),
    },
  },
}

const workflowName: JsonObject = {
  name: "name",
  in: "path",
  required: true,
  description: "May have slashes: `tickets/triage`.",
  schema: { type: "string" },
}

function queryParameters(query: JsonObject): JsonObject[] {
  const properties = query["properties"]
  if (!isJsonObject(properties)) return []
  return Object.entries(properties).map(([name, schema]) => ({ name, in: "query", schema }))
}

/** The demo model by one of the APIs that it speaks. */
function demo(operationId: string, api: string): JsonObject {
  return {
    post: {
      operationId,
      summary: `The built-in demo model, by ${api}`,
      requestBody: body({ type: "object" }),
      responses: { "200": answer("As a backend of that API answers."), "404": answer("No such model.") },
    },
  }
}

/** What all executions share. */
const executeShapes = {
  parameters: [
    { name: "Idempotency-Key", in: "header", schema: { type: "string", minLength: 1, maxLength: 255 } },
    {
      name: "Prefer",
      in: "header",
      description: "`respond-async`: 202 as soon as the run is stored. Only in JSON mode.",
      schema: { type: "string" },
    },
  ],
  headers: { "x-service-run-id": { schema: { type: "string" } } },
  responses: {
    "202": {
      description:
        "With `Prefer: respond-async`: the run is stored, and goes on without the client. Otherwise: the run waits for people.",
      headers: {
        "x-service-run-id": { schema: { type: "string" } },
        location: { schema: { type: "string" } },
        "preference-applied": { schema: { type: "string" } },
      },
      content: json({ anyOf: [named("Waiting"), named("Started")] }),
    },
    ...failures(400, 401, 403, 409, 413, 415, 422, 429, 500, 502, 503, 504),
  },
} satisfies ExecuteShapes

/**
 * The pieces of the document's JSON text, with the paths of the workflows. A workflow takes a third of a millisecond, and a folder may have
 * thousands of them: whoever joins the pieces lets others have their turn.
 */
export function* openApiText(
  version: string,
  keysRequired: boolean,
  workflows: readonly NamedWorkflow[],
): Generator<string, undefined, undefined> {
  const { paths, components, ...rest } = openApi(version, keysRequired)
  const { schemas, ...others } = isJsonObject(components) ? components : {}
  const more: string[] = []
  yield `${openEnded(rest)}"paths":${JSON.stringify(paths).slice(0, -1)}`
  for (const workflow of workflows) {
    const own = workflowPaths([workflow], executeShapes)
    yield entriesText(openObjects(describeOperations(own.paths)))
    more.push(entriesText(openObjects(own.components)))
    yield ""
  }
  yield `},"components":${openEnded(others)}"schemas":${JSON.stringify(schemas).slice(0, -1)}`
  yield* more
  yield "}}}"
}

/** The text of an object that is to have more members. */
function openEnded(object: JsonObject): string {
  const text = JSON.stringify(object).slice(0, -1)
  return text === "{" ? text : `${text},`
}

/** The members of an object that has some before. */
function entriesText(object: JsonObject): string {
  const members = JSON.stringify(object).slice(1, -1)
  return members === "" ? "" : `,${members}`
}

/** The contract without the workflows of a folder, from the schemas that check requests. */
export function openApi(version: string, keysRequired: boolean): JsonObject {
  const document: JsonObject = {
    openapi: "3.1.0",
    info: {
      title: "Wireworks",
      version,
      description: "Runs AI workflows written in `.wire` files.",
      contact: { name: "Wireworks" },
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: "/" }],
    security: [],
    paths: {
      "/execute": {
        post: {
          operationId: "execute",
          summary: "Run a workflow: JSON, or SSE with `Accept: text/event-stream`",
          parameters: executeShapes.parameters,
          requestBody: body(requests.executeBody),
          responses: {
            "200": {
              description: "The workflow's output; its fields are the top-level keys. Or the stream of its events.",
              headers: { "x-service-run-id": { schema: { type: "string" } } },
              content: { ...json({ type: "object" }), ...eventStream },
            },
            ...executeShapes.responses,
          },
        },
      },
      "/execute/{run_id}": {
        get: {
          operationId: "getRun",
          summary: "The run's record",
          parameters: [
            runId,
            {
              name: "wait",
              in: "query",
              description: "Waits up to this many seconds until the run ends or begins to wait for people.",
              schema: { type: "integer", minimum: 0, maximum: 60 },
            },
          ],
          responses: { "200": answer("The record.", json(named("Run"))), ...failures(400, 401, 403, 404, 410, 429) },
        },
      },
      "/execute/{run_id}/events": {
        get: {
          operationId: "followRun",
          summary: "Replay and follow the run's events",
          parameters: [
            runId,
            { name: "Last-Event-ID", in: "header", schema: { type: "integer" } },
            { name: "after", in: "query", schema: { type: "integer" } },
          ],
          responses: {
            "200": answer("Every event after the cursor.", eventStream),
            "204": answer("The run has ended and nothing is left."),
            ...failures(400, 401, 403, 404, 410, 429),
          },
        },
      },
      "/execute/{run_id}/questions": {
        get: {
          operationId: "listQuestionsOfRun",
          summary: "What the run has asked people, oldest first",
          parameters: [runId, ...queryParameters(requests.pageQuery)],
          responses: {
            "200": answer("A page of them.", json(named("Questions"))),
            ...failures(400, 401, 403, 404, 410, 429),
          },
        },
      },
      "/execute/{run_id}/questions/{id}": {
        post: {
          operationId: "answerQuestion",
          summary: "Answer a question",
          parameters: [runId, { name: "id", in: "path", required: true, schema: { type: "string" } }],
          requestBody: body(requests.answerBody),
          responses: {
            "200": answer("The answer is stored.", json(named("Question"))),
            ...failures(400, 401, 403, 404, 409, 410, 413, 415, 422, 429),
          },
        },
      },
      "/questions": {
        get: {
          operationId: "listQuestions",
          summary: "What the caller may answer, over all runs, oldest first",
          parameters: queryParameters(requests.inboxQuery),
          responses: {
            "200": answer("A page of them.", json(named("Questions"))),
            ...failures(400, 401, 403, 429),
          },
        },
      },
      "/execute/{run_id}/cancel": {
        post: {
          operationId: "cancelRun",
          summary: "Stop the run",
          parameters: [runId],
          responses: {
            "200": answer("It had ended already.", json(named("Cancelled"))),
            "202": answer("It is being stopped.", json(named("Cancelled"))),
            ...failures(401, 403, 404, 410, 429),
          },
        },
      },
      "/execute/{run_id}/rerun": {
        post: {
          operationId: "rerun",
          summary: "Run again, taking over the results of steps that did not change",
          parameters: [
            runId,
            { name: "Idempotency-Key", in: "header", schema: { type: "string", minLength: 1, maxLength: 255 } },
            {
              name: "Prefer",
              in: "header",
              description: "`respond-async`: 202 as soon as the run is stored. Only in JSON mode.",
              schema: { type: "string" },
            },
          ],
          requestBody: body(requests.rerunBody),
          responses: {
            "200": {
              description: "The workflow's output; its fields are the top-level keys. Or the stream of its events.",
              headers: { "x-service-run-id": { schema: { type: "string" } } },
              content: { ...json({ type: "object" }), ...eventStream },
            },
            "202": {
              description: "With `Prefer: respond-async`: the run is stored, and goes on without the client.",
              headers: {
                "x-service-run-id": { schema: { type: "string" } },
                location: { schema: { type: "string" } },
                "preference-applied": { schema: { type: "string" } },
              },
              content: json(named("Started")),
            },
            ...failures(400, 401, 403, 404, 409, 410, 413, 415, 422, 429, 500, 502, 503, 504),
          },
        },
      },
      "/validate": {
        post: {
          operationId: "validate",
          summary: "Diagnostics and the plan",
          requestBody: source(requests.validateBody),
          responses: {
            "200": answer("What there is to say.", json(named("Validation"))),
            ...failures(400, 401, 403, 404, 410, 413, 415, 429),
          },
        },
      },
      "/format": {
        post: {
          operationId: "format",
          summary: "Canonical source",
          requestBody: source(requests.formatBody),
          responses: {
            "200": answer("The formatted source.", {
              ...json(named("Formatted")),
              "text/plain": { schema: { type: "string" } },
            }),
            ...failures(400, 401, 403, 413, 415, 422, 429),
          },
        },
      },
      "/workflows": {
        get: {
          operationId: "listWorkflows",
          summary: "The workflows of the server's folder, by name",
          parameters: queryParameters(requests.pageQuery),
          responses: {
            "200": answer("A page of them.", json(named("Workflows"))),
            ...failures(400, 401, 403, 429),
          },
        },
      },
      "/workflows/{name}": {
        get: {
          operationId: "getWorkflow",
          summary: "One workflow, with its source and plan",
          parameters: [workflowName],
          responses: {
            "200": answer("The workflow.", json(named("WorkflowDetail"))),
            ...failures(401, 403, 404, 429),
          },
        },
      },
      "/workflows/{name}/execute": {
        post: {
          operationId: "executeWorkflow",
          summary: "Run a workflow of the server's folder, in all modes of `/execute`",
          parameters: [workflowName, ...executeShapes.parameters],
          requestBody: body(requests.executeWorkflowBody),
          responses: {
            "200": {
              description: "The workflow's output, or the stream of its events.",
              headers: executeShapes.headers,
              content: { ...json({ type: "object" }), ...eventStream },
            },
            ...executeShapes.responses,
            ...failures(404),
          },
        },
      },
      "/runs": {
        get: {
          operationId: "listRuns",
          summary: "The caller's runs, newest first",
          parameters: queryParameters(requests.runsQuery),
          responses: {
            "200": answer("A page of them.", json(named("Runs"))),
            ...failures(400, 401, 403, 429),
          },
        },
      },
      "/mcp": {
        post: {
          operationId: "mcp",
          summary: "Each workflow of the server's folder as a tool: MCP over streamable HTTP",
          requestBody: body({ type: "object" }),
          responses: { "200": answer("A JSON-RPC answer, or a stream of them."), ...failures(401, 403, 404, 429) },
        },
      },
      "/cache/invalidate": {
        post: {
          operationId: "invalidateCache",
          summary: "Drop the entries of one cache key",
          requestBody: body(requests.invalidateBody),
          responses: {
            "200": answer("How many were dropped.", json(named("Purged"))),
            ...failures(400, 401, 403, 415, 429, 503),
          },
        },
      },
      "/playground": {
        get: {
          operationId: "playground",
          summary: "The browser UI",
          security: [],
          responses: { "200": answer("A page."), ...failures(400, 403, 404, 429) },
        },
      },
      "/healthz": {
        get: {
          operationId: "health",
          summary: "Liveness",
          security: [],
          responses: { "200": answer("Alive."), ...failures(400, 403) },
        },
      },
      "/readyz": {
        get: {
          operationId: "ready",
          summary: "Readiness: store reachable, not draining",
          security: [],
          responses: { "200": answer("Ready."), "503": answer("Not ready."), ...failures(400, 403) },
        },
      },
      "/metrics": {
        get: {
          operationId: "metrics",
          summary: "Prometheus text",
          responses: { "200": answer("Metrics."), ...failures(400, 401, 403, 429) },
        },
      },
      "/openapi.json": {
        get: {
          operationId: "openapi",
          summary: "This document",
          responses: { "200": answer("The contract."), ...failures(400, 401, 403, 429) },
        },
      },
      "/demo/v1/responses": demo("demo", "OpenAI's `/responses`"),
      "/demo/v1/chat/completions": demo("demoChat", "OpenAI's chat completions"),
      "/demo/v1/messages": demo("demoMessages", "Anthropic's `/messages`"),
      "/demo/v1beta/models/{call}": {
        ...demo("demoGenerateContent", "Google's `generateContent` and `streamGenerateContent`"),
        parameters: [
          {
            name: "call",
            in: "path",
            required: true,
            description: "The model and the method: `demo:generateContent`.",
            schema: { type: "string" },
          },
        ],
      },
    },
    components: { schemas: { ...responseComponents, ...eventComponents } },
  }
  const tagged = openObjects({ ...document, tags, paths: describeOperations(document["paths"]) })
  if (!keysRequired) return tagged
  return {
    ...tagged,
    security: [{ key: [] }],
    components: {
      ...(isJsonObject(tagged["components"]) ? tagged["components"] : {}),
      securitySchemes: {
        key: { type: "http", scheme: "bearer", description: "One of the keys in `WIRE_API_KEYS`." },
      },
    },
  }
}
