import { scopeAround } from "../plan/call-scope.ts"
import type { EventType } from "./events.ts"

// The one way in which a log becomes a state: each event is given to the handler of its type, with the state of the workflow that it happened in. There are two
// states: the one that people see (`reduce.ts`), and the one that a run goes on from (`fold.ts`).

interface AnyEvent {
  readonly type: EventType
  readonly data: { readonly scope?: string }
}

/** Handlers by type of event: each changes a state. An event without a handler changes nothing. */
export type EventHandlers<State, Event extends AnyEvent> = {
  readonly [Type in EventType]?: (state: State, event: Extract<Event, { readonly type: Type }>, at: number) => void
}

/** Takes an event into a state; events of types that a newer release has added do nothing. */
export function eventTaker<State, Event extends AnyEvent>(
  ...parts: readonly EventHandlers<State, Event>[]
): (state: State, event: Event, at: number) => void {
  const handlers = new Map(parts.flatMap((part) => Object.entries(part))) as Map<
    string,
    (state: State, event: Event, at: number) => void
  >
  return (state, event, at) => handlers.get(event.type)?.(state, event, at)
}

const callEvents: ReadonlySet<EventType> = new Set<EventType>([
  "workflow_call_started",
  "workflow_call_completed",
  "workflow_call_failed",
])

/** The scope of the workflow that an event happens in: a call itself is made in the scope around its own. Null is the run. */
export function scopeOf({ type, data: { scope } }: AnyEvent): string | null {
  if (scope === undefined) return null
  return callEvents.has(type) ? scopeAround(scope) : scope
}
