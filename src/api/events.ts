import { exactly, integer, named, object, string, time, type Schema } from "../base/typed-schema.ts"
import { events, partial } from "../log/event-schemas.ts"
import { partialEvent } from "../log/partials/agent-partials.ts"

// The events of a run as a stream carries them.

/** `AgentStartedEvent` of `agent_started`. */
const nameOf = (type: string): string =>
  `${type.replaceAll(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase())}Event`

const types = Object.keys(events) as (keyof typeof events)[]

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
