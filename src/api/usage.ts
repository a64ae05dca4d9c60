import type { ShownRunLimits, Usage } from "../log/events.ts"
import { integer, named, nullable, number, object, optional, record, type Schema } from "./schema.ts"

export const usage: Schema<Usage> = named(
  "Usage",
  object({
    input_tokens: integer({ description: "Cached ones included." }),
    output_tokens: integer({ description: "Reasoning included." }),
    cached_tokens: integer(),
    reasoning_tokens: integer(),
    cost: nullable(number(), {
      description: "In the currency of the workflow's prices, rounded to 1e-6; null once a call had no price.",
    }),
  }),
)

const shown = object({ limit: number(), used: number() })

const shownLimits = {
  cost: optional(shown),
  tokens: optional(shown),
  model_calls: optional(shown),
  tool_calls: optional(shown),
  time_seconds: optional(shown),
}

export const limits: Schema<ShownRunLimits> = named(
  "Limits",
  object(
    { ...shownLimits, agents: optional(record(object(shownLimits))) },
    {
      description: "The limits of the run that are set, with what is used of each; `agents` has those of its agents.",
    },
  ),
)
