import type { JsonValue } from "../base/json-value.ts"
import { isTerminal, type EventData, type EventType, type ModelCallRecord, type Usage } from "./events.ts"
import type { ReplayData } from "./replay-data.ts"
import { noUsage, addUsage, usageOf } from "./usage.ts"

type SeenEvent = {
  [T in EventType]: {
    readonly type: T
    readonly data: EventData[T]
    readonly cost?: number
    readonly kept?: JsonValue
  }
}[EventType]

/** Work that has ended, and what it used. */
export interface EndedWork {
  readonly agent: string
  readonly iteration?: number
  readonly usage: Usage
  /** Empty for a compaction that is read from a stream, which does not have them. */
  readonly calls: readonly ModelCallRecord[]
}

/** The work whose end an event tells; null for all other events. Every sum of usage, limits and metrics is made from it. */
export function endedWork(event: SeenEvent): EndedWork | null {
  switch (event.type) {
    case "agent_completed":
      return event.data
    case "agent_failed":
      return { ...event.data, usage: usageOf(event.data.calls) }
    case "context_compacted":
      return { ...event.data, calls: (event.kept as ReplayData<"context_compacted"> | undefined)?.calls ?? [] }
    default:
      return null
  }
}

/** The usage of a run after one more event. Its cost is not rounded: `showUsage` does that. */
export function usageAfter(before: Usage, event: SeenEvent): Usage {
  const work = endedWork(event)
  if (work === null) return usageOfEnd(event) ?? before
  return addUsage(before, event.cost === undefined ? work.usage : { ...work.usage, cost: event.cost })
}

/** The usage of the whole run, which its last event tells. */
function usageOfEnd(event: SeenEvent): Usage | undefined {
  return isTerminal(event.type) && "usage" in event.data ? event.data.usage : undefined
}

export interface UsageChange {
  /** The usage of the whole run; else what is added to it. */
  readonly whole: boolean
  readonly usage: Usage
}

/** The usage that events add, or the whole usage where the last event has it. Null: they change nothing. */
export function usageOfEvents(events: readonly SeenEvent[]): UsageChange | null {
  const last = events.at(-1)
  const whole = last !== undefined && usageOfEnd(last) !== undefined
  const usage = events.reduce(usageAfter, noUsage)
  return whole || usage !== noUsage ? { whole, usage } : null
}
