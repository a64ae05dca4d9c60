import type { JsonObject } from "../base/json-value.ts"
import type { EventType } from "../ports/events.ts"

// JSON Schemas of the events of a run, for those who generate clients from `/openapi.json`.

const named = (name: string): JsonObject => ({ $ref: `#/components/schemas/${name}` })
const string: JsonObject = { type: "string" }
const integer: JsonObject = { type: "integer" }
const strings: JsonObject = { type: "array", items: string }
const any: JsonObject = {}

/** Fields whose names end in `?` may be missing. */
function fields(written: Readonly<Record<string, JsonObject>>): JsonObject {
  const names = Object.keys(written)
  return {
    type: "object",
    properties: Object.fromEntries(names.map((name) => [name.replace("?", ""), written[name] ?? {}])),
    required: names.filter((name) => !name.endsWith("?")),
  }
}

const about = { agent: string, "iteration?": integer }
const aboutTool = {
  "agent?": string,
  "dynamic?": string,
  "iteration?": integer,
  tool: string,
  server: string,
  call_id: string,
}
const duration = { duration_ms: integer }
const calls: JsonObject = { type: "array", items: named("ModelCall") }
const error = named("RunError")
const usage = named("Usage")
const atSite = { "site?": string, "iteration?": integer }
const messages = named("Messages")

const eventData: Readonly<Record<EventType, Readonly<Record<string, JsonObject>>>> = {
  workflow_started: { "rerun_of?": string },
  workflow_planned: { nodes: { type: "array", items: named("Node") }, "limits?": named("Limits") },
  agent_started: { ...about, model: string, tools: strings, instruction: string, "tool_definitions?": any },
  agent_delta: { ...about, attempt: integer, text: string },
  agent_retried: { ...about, attempt: integer, reason: string, delay_ms: { type: "number" }, "added?": messages },
  model_call_started: {
    ...about,
    turn: integer,
    attempt: integer,
    model: string,
    reserved: fields({ tokens: integer, cost: { type: ["number", "null"] } }),
  },
  agent_fallback: { ...about, from: string, to: string, error, "answer?": string },
  agent_completed: { ...about, output: any, cached: { type: "boolean" }, ...duration, usage, calls },
  agent_failed: { ...about, error, "answer?": string, ...duration, calls },
  step_skipped: { step: string, "iteration?": integer, "error?": error },
  step_reused: {
    step: string,
    "iteration?": integer,
    output: any,
    run_id: string,
    "site?": string,
    "messages?": messages,
  },
  agent_loop_started: { agent: string, iterations: integer },
  agent_loop_completed: { agent: string, iterations: integer, ...duration },
  context_compacted: { ...about, source: string, "summary?": any, ...duration, usage },
  mcp_server_connected: { server: string, protocol: string, tools: strings, ...duration },
  tool_call_started: { ...aboutTool, arguments: any, "site?": string },
  tool_call_completed: { ...aboutTool, result: any, ...duration },
  tool_call_failed: { ...aboutTool, error, ...duration },
  resource_read: { name: string, server: string, ...atSite, "value?": any, ...duration },
  prompt_rendered: { name: string, server: string, ...atSite, "messages?": messages, ...duration },
  dynamic_resolved: { name: string, "agent?": string, "iteration?": integer, ...duration },
  cache_degraded: { operation: string },
  question_asked: {
    id: string,
    run_id: string,
    kind: { type: "string", enum: ["ask", "approval"] },
    name: string,
    "iteration?": integer,
    question: string,
    show: any,
    to: { type: ["string", "null"] },
    schema: { type: "object" },
    "tool?": string,
    "server?": string,
    "endpoint?": string,
    "arguments?": { type: "object" },
    "digest?": string,
    "call_id?": string,
    asked_at: string,
    expires_at: string,
  },
  question_answered: {
    id: string,
    name: string,
    answer: any,
    answered_by: fields({ caller: { type: ["string", "null"] }, by: { type: ["string", "null"] } }),
  },
  question_expired: { id: string, name: string },
  run_waiting: { questions: strings },
  run_continued: { questions: strings },
  run_resumed: { reason: string },
  workflow_completed: { output: fields({ result: any }), usage, "limits?": named("Limits"), ...duration },
  workflow_failed: { error, "usage?": usage, "limits?": named("Limits"), ...duration },
  workflow_cancelled: { "usage?": usage, "limits?": named("Limits"), ...duration },
}

/** `AgentStartedEvent` of `agent_started`. */
const nameOf = (type: string): string =>
  `${type.replaceAll(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase())}Event`

const types = Object.keys(eventData) as EventType[]

/** Named parts of the OpenAPI document: one event as a client reads it from the stream, distinguished by `event`. */
export const eventComponents: JsonObject = {
  Event: {
    description: "One event of a run: `id`, `event` and `data` are the fields of the server-sent event, `data` parsed.",
    oneOf: types.map((type) => named(nameOf(type))),
    discriminator: {
      propertyName: "event",
      mapping: Object.fromEntries(types.map((type) => [type, `#/components/schemas/${nameOf(type)}`])),
    },
  },
  ...Object.fromEntries(
    types.map((type) => [
      nameOf(type),
      fields({
        id: { type: "integer", minimum: 1 },
        event: { type: "string", const: type },
        data: fields({ ...eventData[type], "at?": { type: "string", format: "date-time" } }),
      }),
    ]),
  ),
  ModelCall: fields({
    turn: integer,
    attempt: integer,
    started_at: { type: "string", format: "date-time" },
    ...duration,
    "model?": string,
    "id?": string,
    "provider?": string,
    "usage?": usage,
    "format?": string,
  }),
  Messages: {
    description: "Messages of a conversation; over 256 KiB their size stands in their place.",
    oneOf: [
      {
        type: "array",
        items: fields({ role: { type: "string", enum: ["user", "assistant"] }, text: string, "images?": strings }),
      },
      fields({ truncated: { type: "boolean", const: true }, bytes: integer }),
    ],
  },
  RunError: fields({ kind: string, message: string, issues: { type: "array", items: named("Issue") } }),
}
