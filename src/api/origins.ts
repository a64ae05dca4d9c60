import { array, closed, integer, named, object, oneOf, optional, string, type Shape } from "../base/typed-schema.ts"
import { json, route } from "./route.ts"

export type OriginsAnswer = Shape<typeof origins>

const hop = named(
  "OriginHop",
  object({
    kind: oneOf(["output", "expression", "step", "request", "source", "input", "tool", "answer"]),
    at: string({
      description:
        "`file:line:column` for what the source says, `calls/ID` for the request of a call, as its route has it, else a path: `output.reply`, `agent.write.text`, `input.mail`.",
    }),
    text: optional(string({ description: "The text that is followed at this place, at most 2,000 characters of it." })),
    range: optional(
      object(
        { from: integer(), to: integer() },
        {
          description:
            "Where that text stands in the value, or in the body of the request, in UTF-16 units; `to` is excluded. Absent where that is not known.",
        },
      ),
    ),
    labels: array(oneOf(["untrusted", "private"]), { description: "What the checker knows of it." }),
  }),
)

const origins = named("Origins", object({ paths: array(array(hop)) }))

export const getOrigins = route({
  id: "getOrigins",
  method: "GET",
  path: "/execute/{run_id}/origins",
  group: "Runs",
  summary: "Where a value of the output, or a part of its text, came from",
  description:
    "Each path leads from the output backwards: its expression, the step, the request of the model that wrote it, and what that request was made of. Text that a model wrote has its call as its origin, and after it what the model read: what shares the most words with the chosen text comes first, and no more than that is claimed. At most 100 paths. A log of more than 16 MiB is not followed.",
  operators: true,
  query: closed({
    path: string({ description: "`output.reply`, `output.items[2].name`" }),
    from: optional(
      integer({
        minimum: 0,
        description: "The part of its text that is followed, in UTF-16 units: all of it unless given.",
      }),
    ),
    to: optional(integer({ minimum: 0, description: "Excluded." })),
  }),
  answers: { 200: json("The paths, the longest match first.", origins) },
  errors: ["invalid_request", "validation_error", "not_found", "run_expired", "limit_exceeded"],
})
