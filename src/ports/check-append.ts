import { isTerminal, type LogEvent } from "../log/events.ts"

/** Throws for appends that are always a bug of the caller: ids with a gap, or events after the end. */
export function checkAppend(events: readonly LogEvent[]): void {
  for (let index = 1; index < events.length; index++) {
    const [previous, event] = [events[index - 1], events[index]]
    if (previous === undefined || event === undefined) continue
    if (event.id !== previous.id + 1) throw new Error(`Event ${event.id} cannot be appended after ${previous.id}`)
    if (isTerminal(previous.type) || previous.type === "run_waiting")
      throw new Error(`Event ${event.id} cannot be appended after ${previous.type}`)
  }
}
