import { noticeEvents, type NoticeEvent } from "../ports/notices.ts"
import { eventStream, runError } from "./events.ts"
import { runStatus } from "./execute.ts"
import { next, pageFields, usualLimit } from "./page.ts"
import { json, route } from "./route.ts"
import {
  anything,
  array,
  closed,
  integer,
  named,
  nullable,
  object,
  oneOf,
  optional,
  string,
  time,
  withRefusal,
  type Shape,
} from "./schema.ts"
import { limits, usage } from "./usage.ts"

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
}

const times = { created_at: time, finished_at: nullable(time) }

export type RunAnswer = Shape<typeof run>

const run = named(
  "Run",
  object({
    run_id: string(),
    status: runStatus,
    ...times,
    output: anything(),
    error: nullable(runError),
    usage,
    limits: optional(limits),
    last_event_id: integer(),
    ...ownWorkflow,
    rerun_of: nullable(string(), { description: "The earlier run that it took results over from." }),
    notifications: array(notification, { description: "What the run has sent or will send." }),
  }),
)

/** A run as the list of runs shows it. */
export type ListedRunAnswer = Shape<typeof listedRun>

const listedRun = named("ListedRun", object({ run_id: string(), ...ownWorkflow, status: runStatus, ...times, usage }))

export type RunsAnswer = Shape<typeof runs>

const runs = named("Runs", object({ runs: array(listedRun), next }))

export type CancelAnswer = Shape<typeof cancelled>

const cancelled = named("Cancelled", object({ run_id: string(), status: runStatus }))

const longestWait = 60

export const getRun = route({
  id: "getRun",
  method: "GET",
  path: "/execute/{run_id}",
  group: "Runs",
  summary: "The run's record",
  description: "Status, output or error, usage and times of a run, as long as it is kept.",
  query: closed({
    wait: optional(
      withRefusal(
        `The time to wait is a whole number of seconds, from 0 to ${longestWait}`,
        integer({
          minimum: 0,
          maximum: longestWait,
          description: "Waits up to this many seconds until the run ends or begins to wait for people.",
        }),
      ),
    ),
  }),
  answers: { 200: json("The record.", run) },
  errors: ["not_found", "run_expired"],
})

export const notACursor = "A cursor is the whole number of an event"

export const followRun = route({
  id: "followRun",
  method: "GET",
  path: "/execute/{run_id}/events",
  group: "Runs",
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
  group: "Runs",
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

export const listRuns = route({
  id: "listRuns",
  method: "GET",
  path: "/runs",
  group: "Runs",
  summary: "The caller's runs, newest first",
  description: "A page at a time; `next` is the cursor of the page after it.",
  query: closed({
    workflow: optional(
      string({ minLength: 1, maxLength: 1000, description: "Only runs of the workflow with this name." }),
    ),
    status: optional(oneOf(["open", "waiting", "ended"], { description: "`open` is queued, running or cancelling." })),
    ...pageFields(String(usualLimit)),
  }),
  answers: { 200: json("A page of them.", runs) },
})
