import type { Limits } from "../plan/plan-shape.ts"
import { noticeEvents } from "../ports/notices.ts"
import type { ApiErrorKind } from "./error-kinds.ts"
import { eventStream } from "./events.ts"
import { question, waitsBesideQuestions } from "../log/event-schemas.ts"
import { json, route, type Answer } from "./route.ts"
import {
  anyObject,
  array,
  boolean,
  closed,
  exactly,
  integer,
  maybe,
  named,
  nullable,
  number,
  object,
  oneOf,
  optional,
  string,
  type Schema,
  type Shape,
} from "../base/typed-schema.ts"
import {
  requestAllSecretsBytes,
  requestIdempotencyKeyLength,
  requestSecretBytes,
  requestSecrets,
  runCalls,
  runTimeMs,
  codeModuleBytes,
  sourceModuleBytes,
  sourceModules,
} from "../base/limits.ts"

const limit = (description: string) => optional(number({ exclusiveMinimum: 0, description }))

const limitOptions: Schema<Limits> = closed(
  {
    cost: limit("Most that the model calls may cost, in the currency of the workflow's prices."),
    tokens: limit("Most tokens of all model calls, input and output."),
    model_calls: limit("Most requests to backends, retries and repairs included."),
    tool_calls: limit("Most tool calls and resource reads."),
    time_seconds: limit(
      "Most seconds in which a process has the run: time spent waiting for people, and time between two processes, does not count.",
    ),
  },
  {
    description: "What the run may use at most. For each key the smallest of the workflow's limit and this one counts.",
  },
)

export type NotifyOption = Shape<typeof notifyOption>

const notifyOption = closed(
  {
    url: string({ maxLength: 2048, description: "Its origin is one of `WIRE_NOTIFY_ORIGINS`." }),
    events: maybe(array(oneOf(noticeEvents), { minItems: 1, description: "All four unless given." })),
  },
  {
    description: "Sends a signed POST (Standard Webhooks) when the run gets there.",
  },
)

export type ExecuteOptions = Shape<typeof executeOptions>

export const executeOptions = named(
  "RunOptions",
  closed({
    cache_key: maybe(
      string({
        minLength: 1,
        maxLength: 1024,
        description:
          "Agents' answers are cached under this key, which is the caller's own. Without it nothing is cached.",
      }),
    ),
    use_cache: maybe(boolean({ description: "Default true; false neither reads nor writes the cache." })),
    max_concurrency: maybe(
      integer({
        minimum: 1,
        maximum: 1000,
        description: `Most model and tool calls of this run at a time; ${runCalls} unless given.`,
      }),
    ),
    timeout_ms: maybe(
      integer({
        minimum: 1,
        maximum: 86_400_000,
        description: `Time in which a process has the run, counted as \`limits.time_seconds\` is, at most \`WIRE_MAX_RUN_TIME\`. Unless given, the workflow's \`limits { time_seconds }\` holds, else ${runTimeMs / 60_000} minutes.`,
      }),
    ),
    deltas: maybe(boolean({ description: "Adds `agent_delta` events: the answer's text as it comes." })),
    partials: maybe(
      boolean({
        description:
          "Implies `deltas`. The stream also has `agent_partial`: the fields of agents' outputs while they are written.",
      }),
    ),
    notify: maybe(notifyOption),
    limits: maybe(limitOptions),
    on_budget: maybe(
      oneOf(["fail", "wait"], {
        description:
          "Where a budget is used up in the middle of the run: `fail` (default), or `wait` until its period ends or the operator allows more.",
      }),
    ),
  }),
)

export const sourceFields = {
  workflow_source_base64: maybe(
    string({ description: "The workflow's UTF-8 bytes in standard Base64, padded or not, without line breaks." }),
  ),
  workflow_source: maybe(string({ description: "Or the workflow as plain text: exactly one of the two." })),
  file: maybe(
    string({
      description: "Where the source stands among `modules`, such as `flows/main.wire`; `main.wire` unless given.",
    }),
  ),
  modules: maybe(
    anyObject({
      description: `The files that the source uses, by their paths from the root: \`{ "lib/common.wire": "source" }\`. At most ${sourceModules}, and ${sourceModuleBytes / 1024 / 1024} MiB together. Code files (\`.js\`, \`.ts\`) have ${codeModuleBytes / 1024} KiB together, where the service takes code from callers.`,
    }),
  ),
}

export type SourceBody = Pick<ExecuteBody, keyof typeof sourceFields>

/** In answers: the files that a source needs, where it needs any. */
export const otherFiles = {
  file: optional(string({ description: "Where the source stands among `modules`." })),
  modules: optional(anyObject({ description: "The other files that it needs, by their paths from the root." })),
}

/** The server reports it in its own words. */
export const oneSource = {
  oneOf: [{ required: ["workflow_source"] }, { required: ["workflow_source_base64"] }],
}

/** Fields of a request for a run, besides the source. */
export const requestFields = {
  input: maybe(anyObject({ description: "Must fit the workflow's `input` block exactly; `{}` unless given." })),
  secrets: maybe(
    anyObject({
      description: `Must fit the workflow's \`secrets\` block exactly; \`{}\` unless given. Never logged or echoed. At most ${requestSecrets} values, ${requestSecretBytes / 1024} KiB each, ${requestAllSecretsBytes / 1024} KiB in all.`,
    }),
  ),
  options: maybe(executeOptions),
}

export type ExecuteBody = Shape<typeof executeBody>

export const executeBody = closed({ ...sourceFields, ...requestFields }, oneSource)

/** Fields that are left out are as in the earlier run, except secrets. */
export type RerunBody = NonNullable<Shape<typeof rerunBody>>

const rerunBody = nullable(
  closed({
    ...sourceFields,
    ...requestFields,
    from: maybe(
      array(string(), {
        maxItems: 1000,
        description: "Steps that always run, such as `agent.write`.",
      }),
    ),
    given: maybe(
      anyObject({
        description:
          "Outputs of agents and answers to questions that stand in for their own, by step: `agent.sort`, `agent.review[2]` in a loop, `ask.confirm`. Not for a workflow of the server.",
      }),
    ),
    version: maybe(
      oneOf(["current"], {
        description:
          "`current`: the workflow of that name as it is served now, in place of that of the earlier run. 409 for a run of sent source. Not together with a source or `same_version`.",
      }),
    ),
    same_version: maybe(
      boolean({
        description:
          "True: 409 unless the server still serves the version of the workflow that the earlier run was of. Not together with a source.",
      }),
    ),
  }),
)

export const runStatuses = ["queued", "running", "waiting", "cancelling", "completed", "failed", "cancelled"] as const
export const runStatus = oneOf(runStatuses)

/** The answer in asynchronous mode. */
export type StartedAnswer = Shape<typeof started>

const started = named("Started", object({ run_id: string(), status: runStatus }))

/** The answer in JSON mode when the run begins to wait. */
export type WaitingAnswer = Shape<typeof waiting>

const waiting = named(
  "Waiting",
  object({
    run_id: string(),
    status: exactly("waiting"),
    questions: array(question),
    ...waitsBesideQuestions,
    next: optional(string({ description: "Only where not all fit: `after` of the next page of the run's questions." })),
  }),
)

/** Answers and errors that all routes that start a run share. */
export const startsRun = {
  headers: {
    "Idempotency-Key": string({
      minLength: 1,
      maxLength: requestIdempotencyKeyLength,
      description: "A repeated request with the same key finds the first one's run.",
    }),
    Prefer: string({ description: "`respond-async`: 202 as soon as the run is stored. Only in JSON mode." }),
  },
  answers: {
    200: {
      description: "The workflow's output; its fields are the top-level keys. Or the stream of its events.",
      headers: ["x-service-run-id"],
      content: { "application/json": anyObject(), "text/event-stream": eventStream },
    },
    202: json(
      "With `Prefer: respond-async`: the run is stored, and goes on without the client. Otherwise: the run waits.",
      { anyOf: [waiting, started] },
      ["x-service-run-id", "location", "preference-applied"],
    ),
  } satisfies Record<number, Answer>,
  errors: [
    "conflict",
    "cancelled",
    "validation_error",
    "input_error",
    "blocked_destination",
    "evaluation_error",
    "limit_exceeded",
    "internal_error",
    "provider_error",
    "output_error",
    "tool_error",
    "overloaded",
    "timeout",
  ] satisfies ApiErrorKind[],
}

/** A source for the examples. */
export const exampleSource = `input {
    name: string
}

output {
    greeting: "Hello, {{ input.name }}!"
}
`

export const execute = route({
  ...startsRun,
  id: "execute",
  method: "POST",
  path: "/execute",
  group: "Runs",
  summary: "Run a workflow: JSON, or SSE with `Accept: text/event-stream`",
  description:
    "Checks the source, the input and the secrets, then runs the workflow. JSON mode answers with the output when the run ends; with " +
    "`Accept: text/event-stream` the answer is the stream of its events. With an `Idempotency-Key` a repeated request finds the first one's run.",
  body: executeBody,
  example: { workflow_source: exampleSource, input: { name: "Ada" }, options: { timeout_ms: 60_000 } },
})

export const rerun = route({
  ...startsRun,
  id: "rerun",
  method: "POST",
  path: "/execute/{run_id}/rerun",
  group: "Runs",
  summary: "Run again, taking over the results of steps that did not change",
  description:
    "Steps whose facts are the same as in the earlier run keep their results; the others run. What the body leaves out is as it was, except secrets.",
  body: rerunBody,
  example: { input: { name: "Ada" }, from: ["agent.write"] },
  errors: [...startsRun.errors, "not_found", "run_expired"],
})
