import type { JsonObject } from "../base/json-value.ts"
import { noticeEvents } from "../ports/notices.ts"
import { nullable } from "./nullable.ts"

// JSON Schemas of requests: the server checks requests with them, and `/openapi.json` shows them.

const limit = (description: string): JsonObject => ({ type: "number", exclusiveMinimum: 0, description })

const sourceProperties: JsonObject = {
  workflow_source: { type: "string", description: "The workflow as plain text." },
  workflow_source_base64: {
    type: "string",
    description: "The workflow's UTF-8 bytes in standard Base64, padded or not, without line breaks.",
  },
}

/** Exactly one of the two ways to send source; the server reports it in its own words. */
const oneSource: JsonObject = {
  oneOf: [{ required: ["workflow_source"] }, { required: ["workflow_source_base64"] }],
}

const requestProperties: JsonObject = {
  input: nullable("object", { description: "Must fit the workflow's `input` block exactly." }),
  secrets: nullable("object", {
    description: "Must fit the workflow's `secrets` block exactly. Never logged or echoed.",
  }),
  options: nullable("object", {
    properties: {
      cache_key: nullable("string", {
        minLength: 1,
        maxLength: 1024,
        description: "Entries are the caller's own. Without it nothing is cached.",
      }),
      use_cache: nullable("boolean", { description: "Default true; false neither reads nor writes the cache." }),
      max_concurrency: nullable("integer", {
        minimum: 1,
        maximum: 1000,
        description: "Bounds the model and tool calls of this run.",
      }),
      timeout_ms: nullable("integer", { minimum: 1, maximum: 86_400_000, description: "Time for the whole run." }),
      deltas: nullable("boolean", { description: "Adds `agent_delta` events." }),
      notify: nullable("object", {
        description: "Sends a signed POST (Standard Webhooks) when the run gets there.",
        properties: {
          url: { type: "string", maxLength: 2048, description: "Its origin is one of `WIRE_NOTIFY_ORIGINS`." },
          events: nullable("array", {
            items: { type: "string", enum: [...noticeEvents] },
            minItems: 1,
            description: "All four unless given.",
          }),
        },
        required: ["url"],
        additionalProperties: false,
      }),
      limits: nullable("object", {
        description:
          "What the run may use at most. For each key the smallest of the workflow's limit and this one counts.",
        properties: {
          cost: limit("Most that the model calls may cost, in the currency of the workflow's prices."),
          tokens: limit("Most tokens of all model calls, input and output."),
          model_calls: limit("Most requests to backends, retries and repairs included."),
          tool_calls: limit("Most tool calls and resource reads."),
          time_seconds: limit("Most seconds, without the time spent waiting for people."),
        },
        additionalProperties: false,
      }),
    },
    additionalProperties: false,
  }),
}

export const executeBody: JsonObject = {
  type: "object",
  properties: {
    ...sourceProperties,
    ...requestProperties,
  },
  additionalProperties: false,
  ...oneSource,
}

export const rerunBody: JsonObject = {
  type: ["object", "null"],
  properties: {
    ...sourceProperties,
    ...requestProperties,
    from: nullable("array", {
      items: { type: "string" },
      maxItems: 1000,
      description: "Steps that always run, such as `agent.write`.",
    }),
    same_version: nullable("boolean", {
      description:
        "True: 409 unless the server still serves the version of the workflow that the earlier run was of. Not together with a source.",
    }),
  },
  additionalProperties: false,
}

/** The source is the server's. */
export const executeWorkflowBody: JsonObject = {
  type: "object",
  properties: requestProperties,
  additionalProperties: false,
}

export const validateBody: JsonObject = {
  type: "object",
  properties: {
    ...sourceProperties,
    input: nullable("object", { description: "Checked against the `input` block, where given." }),
    secrets: nullable("object", { description: "Checked against the `secrets` block, where given." }),
    rerun_of: nullable("string", { description: "An earlier run: each node then says whether it would run again." }),
  },
  additionalProperties: false,
  ...oneSource,
}

export const formatBody: JsonObject = {
  type: "object",
  properties: sourceProperties,
  additionalProperties: false,
  ...oneSource,
}

export const invalidateBody: JsonObject = {
  type: "object",
  properties: { cache_key: { type: "string", minLength: 1, maxLength: 1024 } },
  required: ["cache_key"],
  additionalProperties: false,
}

export const emptyBody: JsonObject = { type: ["object", "null"], properties: {}, additionalProperties: false }

export const eventsQuery: JsonObject = {
  type: "object",
  properties: {
    after: { type: "string", description: "Id of the last event that the client has. `Last-Event-ID` wins." },
  },
  additionalProperties: false,
}

export const recordQuery: JsonObject = {
  type: "object",
  properties: {
    wait: { type: "string", description: "Seconds, 0 to 60: the answer is held until the run ends or begins to wait." },
  },
  additionalProperties: false,
}

/** Which part of a list is asked for. */
const page = {
  limit: { type: "string", pattern: "^(?:[1-9]\\d?|[1-4]\\d\\d|500)$", description: "1 to 500; 50 unless given." },
  after: { type: "string", minLength: 1, maxLength: 1000, description: "`next` of the page before." },
}

export const pageQuery: JsonObject = {
  type: "object",
  properties: { ...page, limit: { ...page.limit, description: "1 to 500; as many as fit unless given." } },
  additionalProperties: false,
}

export const runsQuery: JsonObject = {
  type: "object",
  properties: {
    workflow: {
      type: "string",
      minLength: 1,
      maxLength: 1000,
      description: "Only runs of the workflow with this name.",
    },
    status: {
      type: "string",
      enum: ["open", "waiting", "ended"],
      description: "`open` is queued, running or cancelling.",
    },
    ...page,
  },
  additionalProperties: false,
}

export const inboxQuery: JsonObject = {
  type: "object",
  properties: {
    status: { type: "string", enum: ["open", "answered", "expired", "withdrawn"], description: "`open` unless given." },
    to: { type: "string", maxLength: 1000, description: "Only questions to this group, or with this label." },
    ...page,
  },
  additionalProperties: false,
}

export const answerBody: JsonObject = {
  type: "object",
  properties: {
    answer: { description: "Must fit the question's `schema`." },
    digest: nullable("string", { description: "For an approval: the digest of the question." }),
    by: nullable("string", { maxLength: 200, description: "A label for the person." }),
  },
  required: ["answer"],
  additionalProperties: false,
}

export const noQuery: JsonObject = { type: "object", properties: {}, additionalProperties: false }
