import type { ErrorKind, EventData, EventType, ShownMessages, WireError } from "../log/events.ts"
import { issue } from "./issue.ts"
import { node } from "./plan-view.ts"
import { answeredBy, askedFields } from "./questions.ts"
import {
  anything,
  array,
  boolean,
  exactly,
  integer,
  named,
  nullable,
  number,
  object,
  oneOf,
  optional,
  string,
  time,
  type Schema,
} from "./schema.ts"
import { limits, usage } from "./usage.ts"

// The events of a run: what a stream carries, and what docs/http.md says of it.

export const runError: Schema<WireError> = named(
  "RunError",
  object({ kind: string<ErrorKind>(), message: string(), issues: array(issue) }),
)

const call = named(
  "ModelCall",
  object({
    turn: integer(),
    attempt: integer(),
    started_at: time,
    duration_ms: integer(),
    model: optional(string({ description: "The declared name." })),
    id: optional(string({ description: "The backend's name of the model." })),
    provider: optional(string({ description: "The kind of the provider." })),
    usage: optional(usage),
    format: optional(string({ description: "The output format that held." })),
  }),
)

const messages: Schema<ShownMessages> = named("Messages", {
  description: "Messages of a conversation; over 256 KiB their size stands in their place.",
  oneOf: [
    array(object({ role: oneOf(["user", "assistant"]), text: string(), images: optional(array(string())) })),
    object({ truncated: exactly(true), bytes: integer() }),
  ],
})

const iteration = { iteration: optional(integer({ description: "Inside a loop, counted from 0." })) }
const about = { agent: string({ description: "The bare name." }), ...iteration }
const duration = { duration_ms: integer() }
const calls = array(call, { description: "One for each request to a backend." })
const error = runError
const answer = optional(string({ description: "The last answer, where it was rejected." }))
const ofTool = {
  agent: optional(string({ description: "The agent whose model called." })),
  dynamic: optional(string({ description: "Or the value whose expression did." })),
  ...iteration,
  tool: string(),
  server: string(),
  call_id: string(),
}
const site = { site: optional(string({ description: "Names the expression within the workflow." })) }
const ending = { usage: optional(usage), limits: optional(limits), ...duration }

interface Described<Data> {
  /** For docs/http.md: what is in the data, and when. */
  readonly text: string
  readonly data: Schema<Data>
}

type Field = Parameters<typeof object>[0]

const event = <F extends Field>(text: string, fields: F) => ({
  text,
  data: object(fields),
})

export const events: { readonly [Type in EventType]: Described<EventData[Type]> } = {
  workflow_started: event("`{}`", {
    rerun_of: optional(string({ description: "The earlier run that this one takes results over from." })),
  }),
  workflow_planned: event(
    "`nodes`: `id`, `kind`, `name`, `depends_on`, and `when` (the source text of the condition) where there is one; in an order in which they can run. In a run with limits, `limits` as below",
    { nodes: array(node), limits: optional(limits) },
  ),
  agent_started: event(
    "`agent`, `model`, `tools`, `instruction` as rendered; with the first step of an agent that has tools `tool_definitions`: `name`, `description`, `parameters` of each, as the model gets them",
    {
      ...about,
      model: string(),
      tools: array(string()),
      instruction: string(),
      tool_definitions: optional(anything()),
    },
  ),
  agent_delta: event("`agent`, `attempt`, `text`", { ...about, attempt: integer(), text: string() }),
  agent_retried: event(
    "`agent`, `attempt` (the one about to be made), `reason`, `delay_ms`; and `added` where an answer could not be used: that answer and what the model is asked to do about it, as messages that the conversation of this turn ends with from now on",
    { ...about, attempt: integer(), reason: string(), delay_ms: number(), added: optional(messages) },
  ),
  agent_fallback: event(
    "`agent`, `from`, `to` (declared names of models), `error`: the first has failed for good, the second goes on; `answer` where its last answer was rejected",
    { ...about, from: string(), to: string(), error, answer },
  ),
  model_call_started: event(
    "in runs with limits only, stored before each call: `agent`, `turn` (0 for a compaction), `attempt`, `model`, `reserved` (`tokens`, `cost`)",
    {
      ...about,
      turn: integer(),
      attempt: integer(),
      model: string(),
      reserved: object({ tokens: integer(), cost: nullable(number()) }),
    },
  ),
  agent_completed: event("`agent`, `output`, `cached`, `duration_ms`, `usage`, `calls`", {
    ...about,
    output: anything(),
    cached: boolean(),
    ...duration,
    usage,
    calls,
  }),
  agent_failed: event("`agent`, `error`, `duration_ms`, `calls`; `answer` where the last answer was rejected", {
    ...about,
    error,
    answer,
    ...duration,
    calls,
  }),
  step_skipped: event(
    "`step` (`agent.escalate`), and `error` where the step failed and `on_failure: skip` let the run go on: right after its `agent_failed`. Without `error` its condition was false",
    { step: string(), ...iteration, error: optional(error) },
  ),
  step_reused: event(
    "in a re-run: `step`, `iteration` in a loop, `output`, and `run_id`, the earlier run that it is taken over from; `site` for a call, read or render in an expression, and `messages` for a prompt",
    {
      step: string(),
      ...iteration,
      output: anything(),
      run_id: string(),
      ...site,
      messages: optional(messages),
    },
  ),
  agent_loop_started: event("`agent`, `iterations`", { agent: string(), iterations: integer() }),
  agent_loop_completed: event("`agent`, `iterations`, `duration_ms`", {
    agent: string(),
    iterations: integer(),
    ...duration,
  }),
  context_compacted: event(
    "`agent`, `source`, `summary`: the text that stands for the history, `duration_ms`, `usage`",
    { ...about, source: string(), summary: optional(anything()), ...duration, usage },
  ),
  mcp_server_connected: event("`server`, `protocol`, `tools`, `duration_ms`", {
    server: string(),
    protocol: string(),
    tools: array(string()),
    ...duration,
  }),
  tool_call_started: event(
    "`agent` or `dynamic`, `tool`, `server`, `call_id`, `arguments`, and `site` for a call in an expression",
    { ...ofTool, arguments: anything(), ...site },
  ),
  tool_call_completed: event("`agent` or `dynamic`, `tool`, `server`, `call_id`, `result`, `duration_ms`", {
    ...ofTool,
    result: anything(),
    ...duration,
  }),
  tool_call_failed: event("`agent` or `dynamic`, `tool`, `server`, `call_id`, `error`, `duration_ms`", {
    ...ofTool,
    error,
    ...duration,
  }),
  resource_read: event("`name`, `server`, `duration_ms`, `site`, `iteration` in a loop, `value`", {
    name: string(),
    server: string(),
    ...site,
    ...iteration,
    value: optional(anything()),
    ...duration,
  }),
  prompt_rendered: event("`name`, `server`, `duration_ms`, `site`, `iteration` in a loop, `messages`", {
    name: string(),
    server: string(),
    ...site,
    ...iteration,
    messages: optional(messages),
    ...duration,
  }),
  dynamic_resolved: event("`name`, `duration_ms`", {
    name: string(),
    agent: optional(string()),
    ...iteration,
    ...duration,
  }),
  cache_degraded: event("`operation`", { operation: string() }),
  question_asked: event("the [question](#questions) without its status and answer, and `call_id` for an approval", {
    ...askedFields,
    call_id: optional(string()),
  }),
  question_answered: event("`id`, `name`, `answer`, `answered_by`", {
    id: string(),
    name: string(),
    answer: anything(),
    answered_by: answeredBy,
  }),
  question_expired: event("`id`, `name`", { id: string(), name: string() }),
  run_waiting: event("`questions` (ids): all that the run could still do waits for people", {
    questions: array(string()),
  }),
  run_continued: event("`questions` (ids): the outcomes of these woke it; their events come next", {
    questions: array(string()),
  }),
  run_resumed: event("`reason`: the process restarted, or another one took over", { reason: string() }),
  workflow_completed: event("`output.result`, `usage`, `limits`, `duration_ms`: last", {
    output: object({ result: anything() }),
    ...ending,
    usage,
  }),
  workflow_failed: event("`error`, `usage`, `limits`, `duration_ms`: last", { error, ...ending }),
  workflow_cancelled: event("`usage`, `limits`, `duration_ms`: last", ending),
}

/** `AgentStartedEvent` of `agent_started`. */
const nameOf = (type: string): string =>
  `${type.replaceAll(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase())}Event`

const types = Object.keys(events) as EventType[]

const withTime = (data: Schema<unknown>): Schema<unknown> => ({
  ...data,
  properties: { ...(data["properties"] as Schema<unknown>), at: time },
})

/** One event as a client reads it from the stream, distinguished by `event`. */
export const streamEvent: Schema<unknown> = named("Event", {
  description: "One event of a run: `id`, `event` and `data` are the fields of the server-sent event, `data` parsed.",
  oneOf: types.map((type) =>
    named(
      nameOf(type),
      object({ id: integer({ minimum: 1 }), event: exactly(type), data: withTime(events[type].data) }),
    ),
  ),
  discriminator: {
    propertyName: "event",
    mapping: Object.fromEntries(types.map((type) => [type, `#/components/schemas/${nameOf(type)}`])),
  },
})

export const eventStream: Schema<string> = string({
  description: "Server-sent events, each with an `id`, its type as `event`, and JSON as `data`: see `Event`.",
  contentMediaType: "text/event-stream",
  contentSchema: streamEvent,
})
