import type { ErrorKind, EventData, EventType, ShownMessages, WireError } from "../log/events.ts"
import { partialEvent, type AgentPartial } from "../log/partials/agent-partials.ts"
import { issue } from "./issue.ts"
import { node } from "./plan-view.ts"
import { trigger } from "./trigger.ts"
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
    call_id: optional(string({ description: "Names it within the run, for `GET /execute/{run_id}/calls/{call_id}`." })),
    turn: integer(),
    attempt: integer(),
    started_at: time,
    duration_ms: integer(),
    model: optional(string({ description: "The declared name." })),
    id: optional(string({ description: "The backend's name of the model." })),
    provider: optional(string({ description: "The kind of the provider." })),
    usage: optional(usage),
    format: optional(string({ description: "The output format that held." })),
    cut_off: optional(exactly(true)),
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
const items = {
  items: optional(
    array(integer(), {
      description: "Of a call in lists: its positions in them, after `when` and `by`, the outermost first.",
    }),
  ),
}
const about = { agent: string({ description: "The bare name." }), ...iteration }
const duration = { duration_ms: integer() }
const calls = array(call, { description: "One for each request to a backend." })
const error = runError
const answer = optional(string({ description: "The last answer, where it was rejected." }))
const ofTool = {
  agent: optional(string({ description: "The agent whose model called." })),
  dynamic: optional(string({ description: "Or the value whose expression did." })),
  ...iteration,
  ...items,
  tool: string(),
  server: string(),
  call_id: string(),
}
const http = {
  http: optional(object({ method: string(), status: integer() }, { description: "For a tool of an `api`." })),
}
const site = { site: optional(string({ description: "Names the expression within the workflow." })) }
const ofWorkflow = {
  workflow: string({ description: "The declared name." }),
  call_id: string(),
  scope: optional(string({ description: "That of all events inside the call." })),
  ...site,
  agent: optional(string({ description: "The agent whose model or expression called." })),
  dynamic: optional(string({ description: "Or the value whose expression did." })),
  ...iteration,
  ...items,
}
const callsOfTurn = {
  calls: optional(array(call, { description: "With the first event of a turn: the model calls of that turn." })),
}
const interrupted = {
  interrupted: optional(
    array(object({ scope: optional(string()), ...about, calls }), {
      description: "The model calls of steps that the end of the run interrupted.",
    }),
  ),
}
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
  workflow_started: event("`{}`; `trigger` where a schedule or a webhook started the run", {
    rerun_of: optional(string({ description: "The earlier run that this one takes results over from." })),
    trigger: optional(trigger),
  }),
  workflow_planned: event(
    "`nodes`: `id`, `kind`, `name`, `depends_on`, and `when` (the source text of the condition) where there is one; in an order in which they can run. In a run with limits, `limits` as below; with `options.partials`, `partials: true`",
    { nodes: array(node), limits: optional(limits), partials: optional(exactly(true)) },
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
    "`agent`, `attempt` (the one about to be made), `reason`, `delay_ms`; and `added` where an answer could not be used: that answer and what the model is asked to do about it, as messages that the conversation of this turn ends with from now on. Where requirements sent the output back, `requirements`: the `index` and the `message` of each that does not hold",
    {
      ...about,
      attempt: integer(),
      reason: string(),
      delay_ms: number(),
      added: optional(messages),
      requirements: optional(array(object({ index: integer(), message: string() }))),
    },
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
    "`step` (`agent.escalate`), and `error` where the step failed and `on_failure: skip` let the run go on: right after its `agent_failed`. Without `error` its condition was false. With `site`, the step goes on: a `call`, `read` or `render` in it has failed, whose own `on_failure: skip` makes its value null",
    { step: string(), ...site, ...iteration, ...items, error: optional(error) },
  ),
  step_reused: event(
    "in a re-run: `step`, `iteration` in a loop, `items` in lists, `output`, and `run_id`, the earlier run that it is taken over from; `given` where the caller of the re-run gave it; `site` for a call, read or render in an expression, and `messages` for a prompt",
    {
      step: string(),
      ...iteration,
      ...items,
      output: anything(),
      run_id: string(),
      given: optional(exactly(true)),
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
    "`agent` or `dynamic`, `tool`, `server`, `call_id`, `arguments`, `site` for a call in an expression, and with the first event of a turn `calls`: the model calls of that turn",
    { ...ofTool, arguments: anything(), ...site, ...callsOfTurn },
  ),
  tool_call_continued: event(
    "`agent` or `dynamic`, `tool`, `server`, `call_id`, `round`: the call is made once more, with what people answered the server",
    { ...ofTool, round: integer() },
  ),
  tool_call_completed: event(
    "`agent` or `dynamic`, `tool`, `server`, `call_id`, `http` (`method`, `status`) for a tool of an api, `result`, `duration_ms`",
    {
      ...ofTool,
      ...http,
      result: anything(),
      ...duration,
    },
  ),
  tool_call_failed: event(
    "`agent` or `dynamic`, `tool`, `server`, `call_id`, `http` where an api answered, `error`, `duration_ms`",
    {
      ...ofTool,
      ...http,
      error,
      ...duration,
    },
  ),
  workflow_call_started: event(
    "a workflow is called inside the run: `workflow`, `call_id`, `scope`, `site` for a call in an expression, `agent` or `dynamic`, `input`, and `calls` as in `tool_call_started`. All events inside have the same `scope`",
    { ...ofWorkflow, input: anything(), ...callsOfTurn },
  ),
  workflow_call_completed: event(
    "`workflow`, `call_id`, `scope`, `site`, `output`, `duration_ms`, and `usage` of all that happened inside",
    { ...ofWorkflow, output: anything(), ...duration, usage },
  ),
  workflow_call_failed: event(
    "`workflow`, `call_id`, `scope`, `site`, `error` (its paths begin with the scope), `duration_ms`",
    { ...ofWorkflow, error, ...duration },
  ),
  resource_read: event("`name`, `server`, `duration_ms`, `site`, `iteration` in a loop, `items` in lists, `value`", {
    name: string(),
    server: string(),
    ...site,
    ...iteration,
    ...items,
    value: optional(anything()),
    ...duration,
  }),
  prompt_rendered: event(
    "`name`, `server`, `duration_ms`, `site`, `iteration` in a loop, `items` in lists, `messages`",
    {
      name: string(),
      server: string(),
      ...site,
      ...iteration,
      ...items,
      messages: optional(messages),
      ...duration,
    },
  ),
  dynamic_resolved: event("`name`, `duration_ms`", {
    name: string(),
    agent: optional(string()),
    ...iteration,
    ...duration,
  }),
  cache_degraded: event("`operation`", { operation: string() }),
  question_asked: event(
    "the [question](#questions) without its status and answer; for an approval or an elicitation also `call_id`, and for an approval `agent` or `dynamic`, and `calls` as in `tool_call_started`",
    {
      ...askedFields,
      call_id: optional(string()),
      agent: optional(string({ description: "Of an approval: the agent whose model calls." })),
      dynamic: optional(string({ description: "Or the value whose expression does." })),
      ...callsOfTurn,
    },
  ),
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
  workflow_failed: event("`error`, `usage`, `limits`, `interrupted`, `duration_ms`: last", {
    error,
    ...interrupted,
    ...ending,
  }),
  workflow_cancelled: event(
    "`usage`, `limits`, `interrupted`, `duration_ms`: last. `interrupted`: `agent`, `iteration` and `calls` of the steps that the end interrupted; what a call with `cut_off` used is not known, so that `usage` is the least that was used",
    { ...interrupted, ...ending },
  ),
}

const ofPartial = { ...about, scope: optional(string()), attempt: integer(), path: string() }

export const partial: Described<AgentPartial> = {
  text: "with `options.partials`, without an `id`: `agent`, `attempt`, `path` (`text`, `items[2].title`), and `delta` with `done: false` (new characters of a string) or `value` with `done: true`. Sent before the event that it comes from",
  data: {
    oneOf: [
      object({ ...ofPartial, delta: string(), done: exactly(false) }),
      object({ ...ofPartial, value: anything(), done: exactly(true) }),
    ],
  },
}

/** `AgentStartedEvent` of `agent_started`. */
const nameOf = (type: string): string =>
  `${type.replaceAll(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase())}Event`

const types = Object.keys(events) as EventType[]

const scope = string({
  description:
    "Of an event inside a called workflow: the path of calls that leads to it. Those of the run itself have none.",
})

const withTime = (data: Schema<unknown>): Schema<unknown> => ({
  ...data,
  properties: { ...(data["properties"] as Schema<unknown>), scope, at: time },
})

/** One event as a client reads it from the stream, distinguished by `event`. */
export const streamEvent: Schema<unknown> = named("Event", {
  description: "One event of a run: `id`, `event` and `data` are the fields of the server-sent event, `data` parsed.",
  oneOf: [
    ...types.map((type) =>
      named(
        nameOf(type),
        object({ id: integer({ minimum: 1 }), event: exactly(type), data: withTime(events[type].data) }),
      ),
    ),
    named(nameOf(partialEvent), object({ event: exactly(partialEvent), data: partial.data })),
  ],
  discriminator: {
    propertyName: "event",
    mapping: Object.fromEntries([...types, partialEvent].map((type) => [type, `#/components/schemas/${nameOf(type)}`])),
  },
})

export const eventStream: Schema<string> = string({
  description: "Server-sent events, each with an `id`, its type as `event`, and JSON as `data`: see `Event`.",
  contentMediaType: "text/event-stream",
  contentSchema: streamEvent,
})
