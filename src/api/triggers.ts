import { triggerOutcomes } from "../ports/trigger-store.ts"
import { runError } from "../log/event-schemas.ts"
import { runStatus } from "./execute.ts"
import { json, route } from "./route.ts"
import {
  anything,
  array,
  boolean,
  exactly,
  integer,
  named,
  nullable,
  object,
  oneOf,
  optional,
  string,
  time,
  union,
  type Schema,
  type Shape,
} from "../base/typed-schema.ts"

const last = nullable(
  named(
    "LastTriggered",
    object({
      run_id: nullable(string()),
      due_at: nullable(time, { description: "Null for a delivery, and for a run that was started by hand." }),
      outcome: oneOf(triggerOutcomes, {
        description:
          "`skipped`: the run before it had not ended. `missed`: no service ran, or none had room. `refused`: `error` says why.",
      }),
      status: nullable(runStatus, { description: "That of the run now; null where there is none, or it was deleted." }),
      error: nullable(runError),
    }),
  ),
)

const own = { workflow: string(), name: string() }

const schedule = object({
  ...own,
  kind: exactly("schedule"),
  cron: string(),
  timezone: string(),
  next_at: nullable(time, { description: "Null while it is paused." }),
  paused: boolean(),
  last,
})

const webhook = object({
  ...own,
  kind: exactly("webhook"),
  path: string(),
  event: optional(string({ description: "The name of the events that it sends, where it starts no runs." })),
  paused: boolean(),
  last,
})

export type TriggerAnswer = Shape<typeof schedule> | Shape<typeof webhook>

const trigger: Schema<TriggerAnswer> = named("Trigger", { anyOf: [schedule, webhook] })

export type TriggersAnswer = Shape<typeof triggers>

const triggers = named("Triggers", object({ triggers: array(trigger) }))

export type TriggeredAnswer = Shape<typeof triggered>

const triggered = named("Triggered", object({ run_id: string() }))

const deliveredEvent = named("DeliveredEvent", object({ delivered: integer(), kept: boolean() }))

const delivered = union("anyOf", [triggered, deliveredEvent])

export type DeliveredEventAnswer = Shape<typeof deliveredEvent>

const whose = "For the trigger caller (`WIRE_TRIGGER_CALLER`) and for operators; without keys only on loopback."

export const listTriggers = route({
  id: "listTriggers",
  method: "GET",
  path: "/triggers",
  group: "Triggers",
  operators: true,
  summary: "The schedules and webhooks of the server's workflows",
  description: `When each is due next, and what happened last. ${whose}`,
  answers: { 200: json("All of them, by workflow and name.", triggers) },
  errors: ["not_found"],
})

const parameters = {
  workflow: "May have slashes: `tickets/triage`.",
  name: "That of the schedule or webhook.",
}

const destinationInputs = {
  method: "POST",
  group: "Triggers",
  operators: true,
  parameters,
  bodyIs: "none",
} as const

export const runTrigger = route({
  ...destinationInputs,
  id: "runTrigger",
  path: "/triggers/{workflow*}/{name}/run",
  summary: "Start a schedule now",
  description: `Whatever overlaps; \`due\` is now, and \`due_at\` of the run is null. ${whose}`,
  answers: { 202: json("The run is stored.", triggered) },
  errors: ["not_found", "method_not_allowed", "validation_error", "input_error", "overloaded"],
})

export const pauseTrigger = route({
  ...destinationInputs,
  id: "pauseTrigger",
  path: "/triggers/{workflow*}/{name}/pause",
  summary: "Pause a schedule or webhook",
  description: `It stays paused when the service restarts. Deliveries are answered with 503, so that senders try again. ${whose}`,
  answers: { 200: json("It is paused.", trigger) },
  errors: ["not_found"],
})

export const resumeTrigger = route({
  ...destinationInputs,
  id: "resumeTrigger",
  path: "/triggers/{workflow*}/{name}/resume",
  summary: "Resume a schedule or webhook",
  description: `A schedule starts from now: what was due meanwhile is not caught up with. ${whose}`,
  answers: { 200: json("It is resumed.", trigger) },
  errors: ["not_found"],
})

export const deliver = route({
  id: "deliver",
  method: "POST",
  path: "/hooks/{workflow*}/{name}",
  group: "Triggers",
  summary: "A delivery to a webhook",
  description:
    "No API key: the signature is the key. The body is JSON, or a form whose `payload` is JSON. The same delivery twice starts one run. A webhook with `event` starts none: it sends an event to runs that wait.",
  parameters,
  query: null,
  body: anything({ description: "What the sender sends." }),
  open: "pages",
  answers: {
    200: {
      description:
        "The webhook has `reply_within_seconds`, and the run has completed in time: its output, as JSON. Or a Slack event was taken, or its `url_verification` is answered.",
    },
    202: json("The run, or the event, is stored.", delivered),
    204: { description: "The webhook's `when` is false: no run." },
  },
  errors: ["unauthorized", "not_found", "evaluation_error", "input_error", "overloaded"],
})

export const triggerRoutes = [listTriggers, runTrigger, pauseTrigger, resumeTrigger, deliver]
