import type { JsonObject } from "../base/json-value.ts"
import { noticeEvents } from "../ports/notices.ts"
import { errorStatus } from "./error-status.ts"
import { nullable } from "./nullable.ts"

const shownLimit: JsonObject = {
  type: "object",
  properties: { limit: { type: "number" }, used: { type: "number" } },
  required: ["limit", "used"],
}

const shownLimits: JsonObject = {
  cost: shownLimit,
  tokens: shownLimit,
  model_calls: shownLimit,
  tool_calls: shownLimit,
  time_seconds: shownLimit,
}

const status: JsonObject = {
  type: "string",
  enum: ["queued", "running", "waiting", "cancelling", "completed", "failed", "cancelled"],
}

const next = nullable("string", { description: "`after` of the next page; null on the last one." })

const position: JsonObject = {
  type: "object",
  properties: { line: { type: "integer" }, column: { type: "integer" }, offset: { type: "integer" } },
}

const workflowProperties: JsonObject = {
  name: { type: "string" },
  description: nullable("string", { description: "The `//` comment at the top of the file." }),
  version: nullable("string", { description: "The first 12 hex digits of the SHA-256 of the file that serves." }),
  valid: { type: "boolean" },
  issues: { type: "array", items: { $ref: "#/components/schemas/Issue" } },
  schemas: nullable("object", { properties: { input: { type: "object" }, output: { type: "object" } } }),
  secrets: { type: "object", additionalProperties: { type: "string", enum: ["set", "missing"] } },
  fixed_secrets: {
    type: "array",
    items: { type: "string" },
    description:
      "Secrets that a request may not override alone: they decide where others of the server's own go, which a request would have to send, too. Absent where there are none.",
  },
}

/** JSON Schemas of answers, by their names in the OpenAPI document. */
export const responseComponents: JsonObject = {
  Range: { type: "object", properties: { start: position, end: position } },
  Issue: {
    type: "object",
    properties: {
      code: { type: "string" },
      severity: { type: "string", enum: ["error", "warning"] },
      path: { type: "string" },
      message: { type: "string" },
      hint: { type: "string" },
      range: { $ref: "#/components/schemas/Range" },
    },
    required: ["path", "message"],
  },
  Error: {
    type: "object",
    properties: {
      error: {
        type: "object",
        properties: {
          kind: { type: "string", enum: Object.keys(errorStatus) },
          message: { type: "string" },
          issues: { type: "array", items: { $ref: "#/components/schemas/Issue" } },
        },
        required: ["kind", "message", "issues"],
      },
    },
    required: ["error"],
  },
  Usage: {
    type: "object",
    properties: {
      input_tokens: { type: "integer" },
      output_tokens: { type: "integer" },
      cached_tokens: { type: "integer" },
      reasoning_tokens: { type: "integer" },
      cost: nullable("number", {
        description: "In the currency of the workflow's prices, rounded to 1e-6; null once a call had no price.",
      }),
    },
    required: ["input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens", "cost"],
  },
  Limits: {
    type: "object",
    description: "The limits of the run that are set, with what is used of each; `agents` has those of its agents.",
    properties: {
      ...shownLimits,
      agents: { type: "object", additionalProperties: { type: "object", properties: shownLimits } },
    },
  },
  Node: {
    type: "object",
    properties: {
      id: { type: "string" },
      kind: { type: "string", enum: ["dynamic", "agent", "ask", "output"] },
      name: { type: "string" },
      depends_on: { type: "array", items: { type: "string" } },
      when: { type: "string", description: "The source text of the node's condition, where it has one." },
      rerun: {
        type: "object",
        description: "With `rerun_of`: whether it changed since that run.",
        properties: { status: { type: "string", enum: ["same", "changed", "after"] }, why: { type: "string" } },
        required: ["status", "why"],
      },
    },
    required: ["id", "kind", "name", "depends_on"],
  },
  Validation: {
    type: "object",
    properties: {
      valid: { type: "boolean" },
      issues: { type: "array", items: { $ref: "#/components/schemas/Issue" } },
      issues_omitted: {
        type: "integer",
        description: "How many more issues there are, where they are too many to send.",
      },
      plan: nullable("object", {
        properties: {
          nodes: { type: "array", items: { $ref: "#/components/schemas/Node" } },
          edges: {
            type: "array",
            items: { type: "object", properties: { from: { type: "string" }, to: { type: "string" } } },
          },
        },
      }),
      schemas: nullable("object", {
        properties: { input: { type: "object" }, secrets: { type: "object" }, output: { type: "object" } },
      }),
    },
    required: ["valid", "issues", "plan"],
  },
  Formatted: {
    type: "object",
    properties: { formatted_workflow_source: { type: "string" }, changed: { type: "boolean" } },
    required: ["formatted_workflow_source", "changed"],
  },
  Run: {
    type: "object",
    properties: {
      run_id: { type: "string" },
      status,
      created_at: { type: "string", format: "date-time" },
      finished_at: nullable("string", { format: "date-time" }),
      output: {},
      error: { anyOf: [{ type: "null" }, { type: "object" }] },
      usage: { $ref: "#/components/schemas/Usage" },
      limits: { $ref: "#/components/schemas/Limits" },
      last_event_id: { type: "integer" },
      workflow: nullable("string", {
        description: "The name of the server's workflow; null for source that was sent.",
      }),
      version: nullable("string", { description: "The first 12 hex digits of the SHA-256 of its file." }),
      rerun_of: nullable("string", { description: "The earlier run that it took results over from." }),
      notifications: { type: "array", items: { $ref: "#/components/schemas/Notification" } },
    },
    required: [
      "run_id",
      "status",
      "created_at",
      "finished_at",
      "output",
      "error",
      "usage",
      "last_event_id",
      "workflow",
      "version",
      "rerun_of",
      "notifications",
    ],
  },
  Notification: {
    type: "object",
    properties: {
      type: { type: "string", enum: noticeEvents.map((event) => `run.${event}`) },
      status: { type: "string", enum: ["pending", "delivered", "gave_up"] },
      attempts: { type: "integer" },
      last_error: nullable("string"),
    },
    required: ["type", "status", "attempts", "last_error"],
  },
  Started: {
    type: "object",
    properties: { run_id: { type: "string" }, status },
    required: ["run_id", "status"],
  },
  Question: {
    type: "object",
    properties: {
      id: { type: "string" },
      run_id: { type: "string" },
      kind: { type: "string", enum: ["ask", "approval"] },
      name: { type: "string", description: "The name of the step, or the declared name of the tool." },
      iteration: { type: "integer", description: "Inside a loop, counted from 0." },
      question: { type: "string" },
      show: { description: "For the person to look at." },
      to: nullable("string", { description: "The group that answers, or a label." }),
      schema: { type: "object", description: "JSON Schema of the answer." },
      tool: { type: "string", description: "For an approval: the tool's name on its server." },
      server: { type: "string" },
      endpoint: { type: "string" },
      arguments: { type: "object", description: "As they would be sent; secrets by name." },
      digest: { type: "string", description: "Digest of everything that an approval allows; the answer repeats it." },
      asked_at: { type: "string", format: "date-time" },
      expires_at: { type: "string", format: "date-time" },
      status: { type: "string", enum: ["open", "answered", "expired", "withdrawn"] },
      answer: {},
      answered_by: {
        type: "object",
        properties: { caller: nullable("string"), by: nullable("string") },
        required: ["caller", "by"],
      },
      answered_at: { type: "string", format: "date-time" },
    },
    required: ["id", "run_id", "kind", "name", "question", "show", "to", "schema", "asked_at", "expires_at", "status"],
  },
  Waiting: {
    type: "object",
    properties: {
      run_id: { type: "string" },
      status: { type: "string", const: "waiting" },
      questions: { type: "array", items: { $ref: "#/components/schemas/Question" } },
      next: { type: "string", description: "Only where not all fit: `after` of the next page of the run's questions." },
    },
    required: ["run_id", "status", "questions"],
  },
  Questions: {
    type: "object",
    properties: { questions: { type: "array", items: { $ref: "#/components/schemas/Question" } }, next },
    required: ["questions", "next"],
  },
  Cancelled: {
    type: "object",
    properties: { run_id: { type: "string" }, status },
    required: ["run_id", "status"],
  },
  ListedRun: {
    type: "object",
    properties: {
      run_id: { type: "string" },
      workflow: nullable("string"),
      version: nullable("string"),
      status,
      created_at: { type: "string", format: "date-time" },
      finished_at: nullable("string", { format: "date-time" }),
      usage: { $ref: "#/components/schemas/Usage" },
    },
    required: ["run_id", "workflow", "version", "status", "created_at", "finished_at", "usage"],
  },
  Runs: {
    type: "object",
    properties: {
      runs: { type: "array", items: { $ref: "#/components/schemas/ListedRun" } },
      next,
    },
    required: ["runs", "next"],
  },
  Workflows: {
    type: "object",
    properties: { workflows: { type: "array", items: { $ref: "#/components/schemas/Workflow" } }, next },
    required: ["workflows", "next"],
  },
  Workflow: { type: "object", properties: workflowProperties, required: Object.keys(workflowProperties) },
  WorkflowDetail: {
    type: "object",
    properties: { ...workflowProperties, source: nullable("string"), plan: nullable("object") },
    required: [...Object.keys(workflowProperties), "source", "plan"],
  },
  Purged: { type: "object", properties: { purged_entries: { type: "integer" } }, required: ["purged_entries"] },
}
