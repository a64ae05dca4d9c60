import type { ErrorKind } from "../check/error-kinds.ts"
import { releases } from "./release.ts"
import { node } from "../plan/plan-schema.ts"
import {
  anyObject,
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
  record,
  string,
  time,
  union,
  type Schema,
} from "../base/typed-schema.ts"

// The one statement of each event of a run, from which the types (`events.ts`), the OpenAPI document, the tables of docs/http.md and the
// types of the client are made.

const position = object({ line: integer(), column: integer(), offset: integer() })
const range = named("Range", object({ start: position, end: position }))

export const issue = named(
  "Issue",
  object({
    code: optional(string()),
    severity: optional(oneOf(["error", "warning"])),
    path: string(),
    message: string(),
    hint: optional(string()),
    file: optional(string({ description: "The path of the code file that `range` is in." })),
    range: optional(range),
    related: optional(
      array(
        object({
          message: string(),
          file: optional(string({ description: "The path from the root, where it is another file." })),
          range,
        }),
        { description: "Other places that belong to it, such as the places that a value passed." },
      ),
    ),
    upstream_status: optional(
      integer({ description: "The HTTP status of the backend or server, where there was one." }),
    ),
    limit: optional(number({ description: "Of a budget: what may be used in its period." })),
    used: optional(number({ description: "Of a budget: what has been used of it." })),
    retry_after: optional(integer({ description: "Of a budget: seconds until its period ends." })),
  }),
)

export const runError = named(
  "RunError",
  object({
    kind: string<ErrorKind>(),
    message: string({ description: "The message of the first issue, with a count when there are more." }),
    issues: array(issue),
  }),
)

const tokens = {
  input_tokens: integer({ description: "All input: plain, cached and written." }),
  output_tokens: integer({ description: "Reasoning included." }),
  cached_tokens: integer({ description: "Input that the backend read from its cache." }),
  written_tokens: integer({ description: "Input that the backend wrote into its cache; 0 where it reports none." }),
  reasoning_tokens: integer(),
  hosted: optional(
    record(integer(), {
      description: "Uses of tools that the provider hosts, by type, as it counts them; absent where there were none.",
    }),
  ),
}

export const tokenUsage = object(tokens)

export const usage = named(
  "Usage",
  object({
    ...tokens,
    cost: nullable(number(), {
      description: "In the currency of the workflow's prices, rounded to 1e-6; null once a call had no price.",
    }),
  }),
)

const shownLimit = object({ limit: number(), used: number() })

const limitFields = {
  cost: optional(shownLimit),
  tokens: optional(shownLimit),
  model_calls: optional(shownLimit),
  tool_calls: optional(shownLimit),
  time_seconds: optional(shownLimit),
}

export const shownLimits = object(limitFields)

export const limits = named(
  "Limits",
  object(
    { ...limitFields, agents: optional(record(shownLimits)) },
    {
      description: "The limits of the run that are set, with what is used of each; `agents` has those of its agents.",
    },
  ),
)

const scheduled = object({
  schedule: string({ description: "The name of the schedule." }),
  due_at: nullable(time, { description: "When it was due; null for one that was started by hand." }),
})

const delivered = object({
  webhook: string({ description: "The name of the webhook." }),
  delivery: string({ description: "What tells the delivery from others: the sender's id, or a digest of its body." }),
})

export const trigger = named(
  "RunTrigger",
  union("anyOf", [scheduled, delivered], {
    description: "The schedule or webhook that started the run; absent where a caller did.",
  }),
)

export const modelCall = named(
  "ModelCall",
  object({
    call_id: optional(
      string({
        description:
          "Names the call within the run by step, turn and attempt (`review[2].1.1`), for `GET /execute/{run_id}/calls/{call_id}`.",
      }),
    ),
    turn: integer({ description: "0 for a compaction." }),
    attempt: integer(),
    started_at: time,
    duration_ms: integer(),
    model: optional(string({ description: "The declared name." })),
    id: optional(string({ description: "The backend's name of the model." })),
    provider: optional(string({ description: "The kind of the provider." })),
    usage: optional(usage),
    batch: optional(string({ description: "The batch that it was made in." })),
    price: optional(
      object(
        {
          input: number(),
          cached: number(),
          written: number(),
          output: number(),
          batch: number(),
          hosted: record(number()),
        },
        { description: "The price that counted, where it is not the one of the model's declaration." },
      ),
    ),
    format: optional(
      string({
        description: "The output format that held (`json_schema`, `json_object`, `instruction_only`), or `text`.",
      }),
    ),
    cut_off: optional(
      exactly(true, { description: "The end of the run interrupted the call: what it used is not known." }),
    ),
  }),
)

export const message = object({
  role: oneOf(["user", "assistant"]),
  text: string(),
  images: optional(array(string({ description: "URLs and data URLs." }))),
})

export const messages = named(
  "Messages",
  union("oneOf", [array(message), object({ truncated: exactly(true), bytes: integer() })], {
    description: "Messages of a conversation; over 256 KiB their size stands in their place.",
  }),
)

const iteration = { iteration: optional(integer({ description: "The position in a loop, from 0." })) }
const items = {
  items: optional(
    array(integer(), {
      description: "The positions of a call in the lists around it, after `when` and `by`, the outermost first.",
    }),
  ),
}

/** A question to a person as it is asked. */
const asked = {
  id: string(),
  run_id: string(),
  kind: oneOf(["ask", "approval", "elicitation"], {
    description: "Who asks: an `ask` step, a tool or workflow that needs an approval, an MCP server.",
  }),
  scope: optional(string({ description: "The call of a workflow in which it is asked, where it is in one." })),
  name: string({ description: "The name of the step, or the declared name of the tool or of the workflow." }),
  ...iteration,
  ...items,
  question: string(),
  show: anything({ description: "For the person to look at." }),
  to: nullable(string(), { description: "The group that answers, or a label." }),
  schema: anyObject({ description: "JSON Schema of the answer." }),
  prefill: optional(
    anyObject({
      description: "Some fields of the answer: forms begin with them, and an answer that leaves one out takes it.",
    }),
  ),
  tool: optional(string({ description: "For an approval or an elicitation: the tool's name on its server." })),
  server: optional(string()),
  endpoint: optional(string()),
  workflow: optional(string({ description: "In place of tool and server: the declared name of a workflow." })),
  file: optional(string({ description: "The file of that workflow." })),
  arguments: optional(anyObject({ description: "As they would be sent; secrets by name." })),
  digest: optional(string({ description: "Digest of everything that an approval allows; the answer repeats it." })),
  asked_at: time,
  expires_at: time,
}

export const askedQuestion = object(asked)

export const answeredBy = object(
  { caller: nullable(string()), by: nullable(string()) },
  { description: "`caller` is null without keys; `by` is the label that came with the answer." },
)

export const questionStatus = ["open", "answered", "expired", "withdrawn"] as const

export const question = named(
  "Question",
  object({
    ...asked,
    status: oneOf(questionStatus, { description: "`withdrawn`: the run ended while it was open." }),
    answer: optional(anything()),
    answered_by: optional(answeredBy),
    answered_at: optional(time),
  }),
)

const whichWait = {
  id: string(),
  name: string({ description: "The name of the step." }),
  ...iteration,
  scope: optional(string({ description: "The call of a workflow in which it waits, where it is in one." })),
}
const awaited = {
  until: optional(time),
  event: optional(string({ description: "The name of the event, for a step that waits for one." })),
  key: optional(string()),
}

const openWait = named("OpenWait", object({ ...whichWait, ...awaited }))

/** A wait as it begins. */
const started = {
  ...whichWait,
  ...awaited,
  expires_at: optional(string({ format: "date-time", description: "With `event`: from then on none is taken." })),
}

export const startedWait = object(started)

/** What a parked run waits for besides people. */
export const waitsBesideQuestions = {
  batches: array(string(), { description: "Ids of the open batches of model calls." }),
  waits: array(openWait, { description: "Steps that wait for a time or an event." }),
  budget: optional(object({ path: string(), resets_at: time }, { description: "The budget that the run waits for." })),
}

const parkedFields = {
  questions: array(string(), { description: "Ids of the open questions." }),
  ...waitsBesideQuestions,
}

export const waitingFor = named(
  "WaitingFor",
  object(parkedFields, { description: "What the run waits for: nothing of it can go on before one of these ends." }),
)

const about = { agent: string({ description: "The bare name of the agent." }), ...iteration }
const duration = { duration_ms: integer() }
const reserved = object({ tokens: integer(), cost: nullable(number()) })
const calls = array(modelCall, { description: "One for each request to a backend." })
const error = runError
const answer = optional(string({ description: "The model's last answer, where it was rejected." }))
export const rejection = object({ index: integer(), message: string() })
const callingAgent = optional(string({ description: "Of a call: the agent whose model or expression makes it." }))
const callingValue = optional(
  string({ description: "Of a call, in place of `agent`: the value whose expression makes it." }),
)
const site = {
  site: optional(
    string({
      description: "Of a call, read or render in an expression: names it within the workflow, as the plan does.",
    }),
  ),
}
const caller = { agent: callingAgent, dynamic: callingValue, ...iteration, ...items }
const ofTool = { ...caller, tool: string(), server: string(), call_id: string() }
const http = {
  http: optional(
    object({ method: string(), status: integer() }, { description: "What a tool of an `api` sent and got." }),
  ),
}
const ofWorkflow = {
  workflow: string({ description: "The declared name of the called workflow." }),
  call_id: string(),
  scope: optional(string({ description: "The scope of all events inside the call." })),
  ...site,
  ...caller,
}
const callsOfTurn = {
  calls: optional(
    array(modelCall, { description: "With the first event of a turn that calls tools: the model calls of that turn." }),
  ),
}
export const interruptedStep = object({ scope: optional(string()), ...about, calls })
const logs = { logs: optional(string({ description: "What code of the step wrote to its console." })) }
const ending = { usage: optional(usage), limits: optional(limits), ...duration }
const ended = {
  interrupted: optional(
    array(interruptedStep, {
      description:
        "The model calls of the steps that the end of the run interrupted. `usage` lacks what a call with `cut_off` used.",
    }),
  ),
  ...ending,
}

/**
 * The role of an event for a run that goes on from its log. `work`: a model, a server or a person has done something that would cost again if
 * it were done again, so that it is stored before anything that depends on it. `repeated`: a run that gets no further can write it again each time it is
 * taken up; all other events are written once for a place, and so are progress. `end`: the last event.
 */
export type EventRole = "work" | "repeated" | "end" | "other"

export interface DescribedEvent<Data> {
  /** When the event is written, for docs/http.md. */
  readonly about: string
  readonly data: Schema<Data>
  readonly role: EventRole
}

function event<F extends Parameters<typeof object>[0]>(about: string, fields: F, role: EventRole = "other") {
  return { about, data: object(fields), role }
}

export const events = {
  workflow_started: event("The run begins.", {
    rerun_of: optional(string({ description: "The earlier run that this one takes results over from." })),
    trigger: optional(trigger),
    release: optional(oneOf(releases, { description: "The side of the run, where the workflow had a candidate." })),
  }),
  workflow_planned: event("The plan is made.", {
    nodes: array(node, {
      description:
        "`id`, `kind`, `name`, `depends_on`, `when` and `at_most` of each, in an order in which they can run.",
    }),
    limits: optional(limits),
    partials: optional(exactly(true, { description: "Streams of the run also have `agent_partial`." })),
  }),
  agent_started: event("A step of an agent begins.", {
    ...about,
    model: string(),
    tools: array(string()),
    instruction: string({ description: "As rendered." }),
    tool_definitions: optional(
      anything({
        description:
          "With the first step of an agent that has tools: `name`, `description` and `parameters` of each, as the model gets them.",
      }),
    ),
  }),
  agent_delta: event("A piece of an answer.", { ...about, attempt: integer(), text: string() }, "repeated"),
  agent_retried: event(
    "The model is called again. `added`: the answer that could not be used, and what the model is asked to do about it, which the conversation of this turn ends with from now on.",
    {
      ...about,
      attempt: integer({ description: "The attempt that is about to be made." }),
      reason: string(),
      delay_ms: number(),
      added: optional(messages),
      requirements: optional(
        array(rejection, { description: "The requirements that sent the output back, where they did." }),
      ),
    },
    "repeated",
  ),
  agent_fallback: event("A model has failed for good, and the next one of the list goes on.", {
    ...about,
    from: string({ description: "The declared name of the model that failed." }),
    to: string({ description: "The declared name of the next one." }),
    error,
    answer,
  }),
  model_call_started: event(
    "Only in runs with limits or budgets: stored before each request to a backend.",
    {
      ...about,
      turn: integer({ description: "0 for a compaction." }),
      attempt: integer(),
      model: string({ description: "The declared name." }),
      reserved,
    },
    "repeated",
  ),
  model_call_waiting: event(
    "A model call has waited for five seconds: for a rate, or because its backend asked for a pause.",
    { ...about, because: oneOf(["requests", "tokens", "concurrency", "backend"]) },
    "repeated",
  ),
  hosted_tool_used: event(
    "The provider has used one of its own tools while its model answered.",
    {
      ...about,
      turn: integer(),
      type: string({ description: "`web_search`, `code_execution` …, without its date." }),
      summary: string({ description: "What was asked of it and found, at most 2 KB." }),
    },
    "repeated",
  ),
  batch_prepared: event("Items of a loop are about to be sent as a batch: stored before anything of it is sent.", {
    agent: about.agent,
    batch: string({ description: "Our id of the batch; its vendor keeps it with the batch." }),
    items: integer(),
  }),
  batch_submitted: event(
    "The vendor has accepted a batch.",
    {
      agent: about.agent,
      batch: string(),
      items: integer(),
      bytes: integer({ description: "Of all bodies." }),
      provider_id: string({ description: "The vendor's id." }),
      reserved,
    },
    "work",
  ),
  batch_repeated: event(
    "The vendor knows nothing of a batch that may have been sent before a crash: it is sent again.",
    { agent: about.agent, batch: string() },
    "repeated",
  ),
  batch_left: event(
    "Items are called directly: they are too few, the time of the batch is over, or the backend makes no batches.",
    { agent: about.agent, items: integer(), reason: oneOf(["late", "few", "refused"]) },
    "repeated",
  ),
  agent_completed: event(
    "A step of an agent has its output.",
    { ...about, output: anything(), cached: boolean(), ...logs, ...duration, usage, calls },
    "work",
  ),
  agent_failed: event(
    "A step of an agent has failed.",
    { ...about, error, answer, ...logs, ...duration, calls },
    "work",
  ),
  step_skipped: event(
    "A step is left out: its condition was false, or (`error`) it failed and has `on_failure: skip`, right after its `agent_failed`. With `site` the step goes on: a `call`, `read` or `render` in it failed, whose own `on_failure: skip` makes its value null.",
    { step: string({ description: "`agent.escalate`." }), ...site, ...iteration, ...items, error: optional(error) },
    // The decision of a condition is stored before anything that depends on it starts.
    "work",
  ),
  step_reused: event("A re-run takes the result of a step, call, read or render over from an earlier run.", {
    step: string(),
    ...iteration,
    ...items,
    output: anything(),
    run_id: string({ description: "The earlier run." }),
    given: optional(exactly(true, { description: "The caller of the re-run gave the result." })),
    ...site,
    messages: optional(messages),
  }),
  agent_loop_started: event("A loop begins, or the first round of an agent that repeats.", {
    agent: about.agent,
    iterations: integer({ description: "Of one that repeats, the most rounds." }),
  }),
  agent_loop_completed: event("A loop has ended.", { agent: about.agent, iterations: integer(), ...duration }),
  context_compacted: event(
    "A summary takes the place of a history.",
    {
      ...about,
      source: string(),
      summary: optional(anything({ description: "The text that stands for the history." })),
      ...duration,
      usage,
    },
    "work",
  ),
  mcp_server_connected: event("An MCP server is connected.", {
    server: string(),
    protocol: string(),
    tools: array(string()),
    ...duration,
  }),
  // With the first one of a turn goes the turn of the model that called.
  tool_call_started: event("A tool is called.", { ...ofTool, arguments: anything(), ...site, ...callsOfTurn }, "work"),
  tool_call_continued: event(
    "The call is made once more, with what people answered the server.",
    { ...ofTool, round: integer() },
    "work",
  ),
  tool_call_completed: event(
    "A tool call has its result.",
    { ...ofTool, ...http, result: anything(), ...duration },
    "work",
  ),
  tool_call_failed: event("A tool call has failed.", { ...ofTool, ...http, error, ...duration }, "work"),
  workflow_call_started: event(
    "A workflow is called inside the run. All events inside the call have its `scope`.",
    { ...ofWorkflow, input: anything(), ...callsOfTurn },
    "work",
  ),
  workflow_call_completed: event(
    "The called workflow has its output. `usage` is that of everything inside.",
    { ...ofWorkflow, output: anything(), ...logs, ...duration, usage },
    "work",
  ),
  workflow_call_failed: event(
    "The called workflow has failed. The paths of `error` begin with the scope.",
    { ...ofWorkflow, error, ...duration },
    "work",
  ),
  resource_read: event(
    "A resource of an MCP server was read.",
    { name: string(), server: string(), ...site, ...iteration, ...items, value: optional(anything()), ...duration },
    "work",
  ),
  prompt_rendered: event(
    "A prompt of an MCP server was rendered.",
    { name: string(), server: string(), ...site, ...iteration, ...items, messages: optional(messages), ...duration },
    "work",
  ),
  dynamic_resolved: event("A value of `dynamic` is known.", {
    name: string(),
    agent: optional(string({ description: "The agent that the value belongs to, where it is one of an agent's own." })),
    ...iteration,
    ...logs,
    ...duration,
  }),
  cache_degraded: event("The cache failed, and the run goes on without it.", { operation: string() }, "repeated"),
  question_asked: event(
    "People are asked. `data` is the [question](#questions) without its status and answer. An approval and an elicitation also have these fields.",
    { ...asked, call_id: optional(string()), agent: callingAgent, dynamic: callingValue, ...callsOfTurn },
    "work",
  ),
  question_answered: event(
    "The run takes an answer in.",
    { id: string(), name: string(), answer: anything(), answered_by: answeredBy },
    "work",
  ),
  question_expired: event("The time to answer is over.", { id: string(), name: string() }, "work"),
  question_withdrawn: event(
    "The run has moved to another version of its workflow, for which this open question is not the right one: nobody can answer it any more.",
    { id: string(), name: string(), because: oneOf(["moved"]) },
  ),
  wait_started: event("A step begins to wait: until a time, or for an event with a name and a key.", started, "work"),
  wait_ended: event(
    "The wait is over. `output` is the data of the event, or the time at which the wait ended; there is none where it expired.",
    {
      ...whichWait,
      because: oneOf(["time", "event", "expired"], { description: "What ended it." }),
      output: optional(anything()),
    },
    "work",
  ),
  run_waiting: event(
    "All that the run could still do waits: for people, events, a time, batches or a budget. The run holds nothing until one of them wakes it.",
    parkedFields,
  ),
  run_continued: event(
    "The run goes on. `data` has the ids of what woke it; the events of questions and waits come next.",
    {
      questions: array(string()),
      batches: array(string()),
      waits: array(string()),
      budget: optional(string({ description: "The path of the budget." })),
    },
  ),
  run_moved: event(
    "An operator has moved the waiting run to another version of its workflow. The lists have the ids of steps. `workflow_planned` comes next, then the questions of the new version, and `run_waiting`.",
    {
      from: string({ description: "The version before." }),
      to: string(),
      reused: array(string(), { description: "Have completed, and are the same." }),
      outdated: array(string(), {
        description: "Have completed, and have changed or are gone; nothing that is still to come depends on them.",
      }),
      asked_again: array(string(), { description: "Their open questions are withdrawn, and asked anew." }),
      dropped: array(string(), { description: "Their open questions are withdrawn, and not asked anew." }),
    },
  ),
  run_resumed: event("The process restarted, or another one took over.", { reason: string() }, "repeated"),
  run_survived: event(
    "The run was resumed alone, because processes that ran it had died, and did this one no harm.",
    {},
  ),
  workflow_completed: event(
    "Last: the run has its output.",
    { output: object({ result: anything() }), ...logs, ...ending, usage },
    "end",
  ),
  workflow_failed: event("Last: the run has failed.", { error, ...ended }, "end"),
  workflow_cancelled: event("Last: somebody cancelled the run.", ended, "end"),
} satisfies Readonly<Record<string, DescribedEvent<unknown>>>

const ofPartial = {
  ...about,
  scope: optional(string()),
  attempt: integer({
    description: "Grows where the text begins anew: what came before it does not count any more.",
  }),
  path: string({ description: "`text`, `items[2].title`." }),
}

/** News of one field of an agent's output. It is no event of the log: streams compute it from deltas. */
export const partial = {
  about:
    "With `options.partials`, without an `id`: new characters (`delta`) of a string, or a whole `value`. Sent before the event that it comes from.",
  data: union("oneOf", [
    object({ ...ofPartial, delta: string(), done: exactly(false) }),
    object({ ...ofPartial, value: anything(), done: exactly(true) }),
  ]),
}

const roles: Readonly<Record<string, DescribedEvent<unknown> | undefined>> = events

/** The role of an event; `other` for events of newer releases. */
export function roleOf(type: string): EventRole {
  return roles[type]?.role ?? "other"
}
