import {
  anything,
  array,
  boolean,
  closed,
  time,
  integer,
  maybe,
  named,
  object,
  optional,
  string,
  type Shape,
} from "../base/typed-schema.ts"
import { next, pageFields, defaultLimit } from "./page.ts"
import { json, route } from "./route.ts"

const name = string({
  pattern: "^[A-Za-z0-9._-]{1,100}$",
  description: "The name that waits have: letters, digits, `.`, `_` and `-`.",
})

export type SendEventBody = Shape<typeof sendEventBody>

const sendEventBody = closed({
  name,
  key: maybe(string({ maxLength: 500, description: "Which event of that name; empty unless given." })),
  data: optional(anything({ description: "What waits take, where it fits their type; null unless given." })),
  id: maybe(string({ minLength: 1, maxLength: 200, description: "The same id within 30 days has no second effect." })),
  keep_seconds: maybe(
    integer({
      minimum: 0,
      maximum: 604_800,
      description: "How long it is kept when no open wait takes it: the first later wait that it fits takes it then.",
    }),
  ),
})

export type SentEventAnswer = Shape<typeof sentEventAnswer>

const sentEventAnswer = named(
  "SentEvent",
  object({
    id: string(),
    delivered: integer({ description: "How many waits took it." }),
    kept: boolean({ description: "No open wait took it, and it is kept for a later one." }),
  }),
)

const keptEvent = named(
  "KeptEvent",
  object({ id: string(), name: string(), key: string(), data: anything(), received_at: time, keep_until: time }),
)

export type KeptEvents = Shape<typeof keptEvents>

const keptEvents = named("KeptEvents", object({ events: array(keptEvent), next }))

const listedWait = named(
  "ListedWait",
  object({
    id: string(),
    run_id: string(),
    name: string({ description: "The name of the step." }),
    event: optional(string()),
    key: optional(string()),
    until: optional(time),
    expires_at: optional(time),
  }),
)

export type ListedWaits = Shape<typeof listedWaits>

const listedWaits = named("ListedWaits", object({ waits: array(listedWait), next }))

export const sendEvent = route({
  id: "sendEvent",
  method: "POST",
  path: "/events",
  group: "Events",
  summary: "Send an event to the runs that wait for it",
  description:
    "It goes to every open wait of that name and key, of the caller's own runs. With `keep_seconds` one that no open wait takes is kept for the first later one.",
  body: sendEventBody,
  example: { name: "payment.settled", key: "A-17", data: { status: "settled", amount: 5 }, keep_seconds: 3600 },
  answers: { 202: json("The event is stored.", sentEventAnswer) },
  errors: ["conflict", "input_error", "overloaded"],
})

export const listEvents = route({
  id: "listEvents",
  method: "GET",
  path: "/events",
  group: "Events",
  summary: "The caller's events that are kept, oldest first",
  description: "Events that were sent with `keep_seconds`, and that no wait has taken.",
  query: closed(pageFields(String(defaultLimit))),
  answers: { 200: json("A page of them.", keptEvents) },
})

export const dropEvent = route({
  id: "dropEvent",
  method: "DELETE",
  path: "/events/{id}",
  group: "Events",
  summary: "Drop an event that is kept",
  description: "Its id stays remembered.",
  bodyIs: "none",
  answers: { 204: { description: "Nobody takes it any more." } },
  errors: ["not_found"],
})

export const listWaits = route({
  id: "listWaits",
  method: "GET",
  path: "/waits",
  group: "Events",
  summary: "What the caller's runs wait for: events and times",
  description:
    "Open waits of all runs of the caller: those for events first, each kind in the order in which they began.",
  query: closed({
    event: optional(string({ maxLength: 100, description: "Only waits for this event." })),
    key: optional(string({ maxLength: 500, description: "Only waits with this key." })),
    ...pageFields(String(defaultLimit)),
  }),
  answers: { 200: json("A page of them.", listedWaits) },
})

export const eventRoutes = [sendEvent, listEvents, dropEvent, listWaits] as const
