import type { EventData, EventType, Usage } from "./events.ts"
import { noUsage, addUsage, usageOf } from "./usage.ts"

type SeenEvent = {
  [T in EventType]: { readonly type: T; readonly data: EventData[T]; readonly cost?: number }
}[EventType]

/** The usage of a run after one more event. Its cost is not rounded: `showUsage` does that. */
export function usageAfter(before: Usage, event: SeenEvent): Usage {
  switch (event.type) {
    case "agent_completed":
    case "context_compacted":
      return addUsage(before, exactly(event.data.usage, event.cost))
    case "agent_failed":
      return addUsage(before, exactly(usageOf(event.data.calls), event.cost))
    case "workflow_completed":
    case "workflow_failed":
    case "workflow_cancelled":
      return event.data.usage ?? before
    default:
      return before
  }
}

function exactly(usage: Usage, cost: number | undefined): Usage {
  return cost === undefined ? usage : { ...usage, cost }
}

export interface UsageChange {
  /** The usage of the whole run; else what is added to it. */
  readonly whole: boolean
  readonly usage: Usage
}

/** What events add to the usage, or, where their last one tells the whole, that. Null: they change nothing. */
export function usageOfEvents(events: readonly SeenEvent[]): UsageChange | null {
  const last = events.at(-1)
  const whole =
    last !== undefined &&
    (last.type === "workflow_completed" || last.type === "workflow_failed" || last.type === "workflow_cancelled") &&
    last.data.usage !== undefined
  const usage = events.reduce(usageAfter, noUsage)
  return whole || usage !== noUsage ? { whole, usage } : null
}
