import type { ErrorKind } from "../log/events.ts"
import { noticeEvents, type NoticeEvent } from "../ports/notices.ts"
import { score } from "./shown-score.ts"
import { searchFilters } from "./run-filters.ts"
import { releases } from "../log/release.ts"
import { eventStream } from "./events.ts"
import { otherFiles, runStatus } from "./execute.ts"
import { next, pageFields, defaultLimit } from "./page.ts"
import { json, route } from "./route.ts"
import {
  anyObject,
  anything,
  array,
  boolean,
  closed,
  integer,
  named,
  nullable,
  number,
  object,
  oneOf,
  optional,
  string,
  time,
  withRefusal,
  type Schema,
  type Shape,
} from "../base/typed-schema.ts"
import { limits, runError, trigger, usage, waitingFor } from "../log/event-schemas.ts"

const notification = named(
  "Notification",
  object({
    type: oneOf(noticeEvents.map((event): `run.${NoticeEvent}` => `run.${event}`)),
    status: oneOf(["pending", "delivered", "gave_up"]),
    attempts: integer(),
    last_error: nullable(string()),
  }),
)

const ownWorkflow = {
  workflow: nullable(string(), { description: "The name of the server's workflow; null for source that was sent." }),
  version: nullable(string(), { description: "The first 12 hex digits of the SHA-256 of its file." }),
  release: optional(
    oneOf(releases, { description: "Its side, where there was a candidate: absent where there was none." }),
  ),
  shadow_of: optional(string({ description: "Of a shadow: the run that it shadows." })),
  moved_from: optional(
    string({ description: "The version before, where an operator has moved the run to another one." }),
  ),
}

const startedBy = {
  trigger: optional(trigger),
  trace_id: nullable(string(), {
    description: "The trace of its spans; null where it came with none, and the service sends none.",
  }),
}

const ofOperators = {
  caller: optional(string({ description: "Whose run it is. Only for operators." })),
}

const times = { created_at: time, finished_at: nullable(time) }

const batch = named(
  "Batch",
  object({
    agent: string(),
    id: string(),
    status: string({ description: "`in_progress`, `ended`, or another word of the vendor." }),
    completed: integer({ description: "As the vendor said when it was last asked." }),
    failed: integer(),
    total: integer(),
    submitted_at: time,
  }),
)

export type RunAnswer = Shape<typeof run>

const run = named(
  "Run",
  object({
    run_id: string(),
    status: runStatus,
    waiting_for: optional(waitingFor),
    batches: array(batch, { description: "Batches of model calls, until the run has ended." }),
    ...times,
    redacted_at: optional(
      string({
        format: "date-time",
        description:
          "When its input, events, output and files were deleted, for it had private values (`WIRE_PRIVATE_RETENTION`). Absent where they are there.",
      }),
    ),
    output: anything(),
    error: nullable(runError),
    usage,
    limits: optional(limits),
    last_event_id: integer(),
    ...ownWorkflow,
    ...startedBy,
    trace_url: optional(string({ description: "Where the trace is shown. Absent without `WIRE_TRACE_URL`." })),
    rerun_of: nullable(string(), { description: "The earlier run that it took results over from." }),
    scores: array(score, { description: "What it was judged by, after it had completed." }),
    notifications: array(notification, { description: "What the run has sent or will send." }),
    ...ofOperators,
  }),
)

/** A run as the list of runs shows it. */
export type ListedRunAnswer = Shape<typeof listedRun>

const preview = named(
  "RunPreview",
  object({
    steps: array(string(), { description: "The first steps of its source, by name." }),
    input: string({ description: "The input in one line, cut." }),
    result: nullable(string(), { description: "The output in one line, or the message of the error, cut." }),
    started_by: oneOf(["request", "rerun", "webhook", "schedule", "responses", "chat", "ag-ui"], {
      description:
        "A request with source or of a named workflow, a re-run, a trigger of a workflow, or a client of one of the chat APIs.",
    }),
    expires_at: nullable(time, { description: "When retention deletes it; null as long as it has not ended." }),
  }),
)

const listedRun = named(
  "ListedRun",
  object({
    run_id: string(),
    ...ownWorkflow,
    ...startedBy,
    status: runStatus,
    error_kind: optional(string<ErrorKind>({ description: "Only of a failed run: the kind of its error." })),
    ...times,
    usage,
    started_by: nullable(string(), { description: "`request`, `schedule`, `webhook` or `rerun`." }),
    duration_ms: nullable(integer(), { description: "Null as long as it has not ended." }),
    tokens: nullable(integer(), { description: "Of input and output; null before any." }),
    cost: nullable(number(), { description: "Null where a call had no price." }),
    error: nullable(
      object({ kind: string<ErrorKind>(), path: nullable(string()), message: string({ description: "Cut." }) }),
    ),
    input_preview: nullable(string(), { description: "The input in one line, cut." }),
    output_preview: nullable(string(), { description: "The output in one line, cut." }),
    scores: array(score, {
      description: "What it was judged by. Those that are made from private values are in its record alone.",
    }),
    preview: optional(preview),
    ...ofOperators,
  }),
)

export type RunsAnswer = Shape<typeof runs>

const runs = named(
  "Runs",
  object({
    runs: array(listedRun),
    next,
    searched_back_to: nullable(time, {
      description: "How far a search has looked, where it has not looked at all runs and its page is not full.",
    }),
  }),
)

export type CancelAnswer = Shape<typeof cancelled>

const cancelled = named("Cancelled", object({ run_id: string(), status: runStatus }))

const longestWait = 60

export const getRun = route({
  id: "getRun",
  method: "GET",
  path: "/execute/{run_id}",
  alias: "/runs/{run_id}",
  group: "Runs",
  operators: true,
  summary: "The run's record",
  description: "Status, output or error, usage and times of a run, as long as it is kept.",
  query: closed({
    wait: optional(
      withRefusal(
        `The time to wait is a whole number of seconds, from 0 to ${longestWait}`,
        integer({
          minimum: 0,
          maximum: longestWait,
          description: "Waits up to this many seconds until the run ends or begins to wait.",
        }),
      ),
    ),
  }),
  answers: { 200: json("The record.", run) },
  errors: ["not_found", "run_expired"],
})

export type RunRequestAnswer = Shape<typeof runRequest>

const runRequest = named(
  "RunRequest",
  object({
    run_id: string(),
    source: string({ description: "The source as it was when the run began." }),
    ...otherFiles,
    input: anyObject(),
    options: anyObject({ description: "Those that were given, without `notify`." }),
    ...ownWorkflow,
    rerun_of: nullable(string(), { description: "The earlier run that it takes results over from." }),
  }),
)

export const getRunRequest = route({
  id: "getRunRequest",
  method: "GET",
  path: "/execute/{run_id}/request",
  group: "Runs",
  summary: "What the run was asked to do",
  description: "Source, input and options of a run, as long as it is kept. Secrets are no part of it.",
  operators: true,
  answers: { 200: json("The request without its secrets.", runRequest) },
  errors: ["not_found", "run_expired"],
})

export type CallRequestAnswer = Shape<typeof callRequest>

const sentHeaders: Schema<Readonly<Record<string, string>>> = {
  type: "object",
  additionalProperties: { type: "string" },
  description: "Keys, and what the workflow sets, are names of variables: `$KEY`.",
}

const callRequest = named(
  "CallRequest",
  object({
    run_id: string(),
    call_id: string(),
    method: string(),
    url: string(),
    headers: sentHeaders,
    body: anything(),
    text: nullable(string(), {
      description:
        "The body to the byte, secrets replaced by their names; empty for a request without one, null where it was too large to be kept.",
    }),
    bytes: integer({ description: "Of the body as it was sent." }),
    stable_bytes: optional(
      integer({
        description:
          "Of a model call: the bytes of the body up to where the part ends that is the same in every item of the loop, or without a loop in every run.",
      }),
    ),
    sha256: nullable(string(), { description: "Of `text`, in hex." }),
    redacted: boolean({ description: "Secrets were replaced in the body, so that it differs from what was sent." }),
  }),
)

export const getCallRequest = route({
  id: "getCallRequest",
  method: "GET",
  path: "/execute/{run_id}/calls/{call_id}",
  group: "Runs",
  summary: "The request of a model call or tool call, as it was sent",
  description:
    "Address, headers and body of one request to a backend, an HTTP API or an MCP server, as the adapter sent it, kept with the run (`WIRE_KEEP_REQUESTS`). It is there once its turn, or the call of the tool, has ended. Of a tool call that was sent again it is the last one.",
  parameters: { call_id: "`calls[].call_id` of `agent_completed` and other events, `call_id` of `tool_call_started`." },
  operators: true,
  answers: { 200: json("The request without secrets.", callRequest) },
  errors: ["not_found", "run_expired"],
})

export const notACursor = "A cursor is the whole number of an event"

export const followRun = route({
  id: "followRun",
  method: "GET",
  path: "/execute/{run_id}/events",
  alias: "/runs/{run_id}/events",
  group: "Runs",
  operators: true,
  summary: "Replay and follow the run's events",
  description:
    "Every event after the cursor, then those to come, up to the terminal one. A dropped connection goes on with `Last-Event-ID`.",
  headers: { "Last-Event-ID": integer({ description: "Id of the last event that the client has." }) },
  query: closed({
    after: optional(withRefusal(notACursor, integer({ minimum: 0, description: "The same; `Last-Event-ID` wins." }))),
  }),
  answers: {
    200: { description: "Every event after the cursor.", content: { "text/event-stream": eventStream } },
    204: { description: "The run has ended and nothing is left." },
  },
  errors: ["not_found", "run_expired"],
})

export const cancelRun = route({
  id: "cancelRun",
  method: "POST",
  path: "/execute/{run_id}/cancel",
  alias: "/runs/{run_id}/cancel",
  group: "Runs",
  operators: true,
  summary: "Stop the run",
  description: "Repeats are harmless. Calls that are under way are aborted.",
  bodyIs: "none",
  body: nullable(closed({})),
  answers: {
    200: json("It had ended already.", cancelled),
    202: json("It is being stopped.", cancelled),
  },
  errors: ["not_found", "run_expired"],
})

export const deleteRun = route({
  id: "deleteRun",
  method: "DELETE",
  path: "/execute/{run_id}",
  alias: "/runs/{run_id}",
  group: "Runs",
  summary: "Delete an ended run",
  description:
    "Its request, events, questions and answers are gone at once, and its `Idempotency-Key` is free. From then on the run is 410, and not in the list.",
  bodyIs: "none",
  operators: true,
  answers: { 204: { description: "It is deleted." } },
  errors: ["not_found", "conflict", "run_expired", "overloaded"],
})

export const listRuns = route({
  id: "listRuns",
  method: "GET",
  path: "/runs",
  group: "Runs",
  summary: "The caller's runs, newest first",
  description:
    "A page at a time; `next` is the cursor of the page after it. All filters must hold. To operators: the runs of all callers. With `q`, `started_by`, `min_cost` or `min_seconds` a request looks at the newest runs first, for two seconds and at 20,000 of them at most. Where the page is not full, `searched_back_to` says how far it looked: null when it looked at all, else `next` goes on from there.",
  operators: true,
  query: closed({
    ...searchFilters,
    include: optional(
      oneOf(["preview"], {
        description:
          "`preview`: what each run was given and gave, in a line each, what started it, and when it is deleted.",
      }),
    ),
    ...pageFields(String(defaultLimit)),
  }),
  answers: { 200: json("A page of them.", runs) },
})
