import type { RunTrigger } from "../log/events.ts"
import { named, nullable, object, string, time, type Schema } from "./schema.ts"

const scheduled = object({
  schedule: string({ description: "The name of the schedule." }),
  due_at: nullable(time, { description: "When it was due; null for one that was started by hand." }),
})

const delivered = object({
  webhook: string({ description: "The name of the webhook." }),
  delivery: string({ description: "What tells the delivery from others: the sender's id, or a digest of its body." }),
})

/** What started a run without a caller. */
export const trigger: Schema<RunTrigger> = named("RunTrigger", {
  anyOf: [scheduled, delivered],
  description: "The schedule or webhook that started the run; absent where a caller did.",
})
