import { usage } from "../log/event-schemas.ts"
import {
  anyObject,
  boolean,
  named,
  number,
  object,
  optional,
  string,
  time,
  union,
  type Schema,
} from "../base/typed-schema.ts"
import type { ScoreValue } from "../ports/scores.ts"

/** A score, as records and lists show it. */
export const score = named(
  "Score",
  object({
    name: string(),
    value: optional(
      union("anyOf", [boolean(), number(), string()], {
        description: "Of a computed score, and of one that was given by hand.",
      }) as Schema<ScoreValue>,
    ),
    output: optional(anyObject({ description: "Of a judged score: what the judge answered." })),
    model: optional(string({ description: "The id of the model that judged." })),
    usage: optional(usage),
    at: time,
    by: optional(string({ description: "Who gave it by hand." })),
    comment: optional(string()),
  }),
)
