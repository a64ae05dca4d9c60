import type { LogEvent } from "./events.ts"
import { memoryOf } from "../base/memory-of.ts"

/** About what an event takes in a log. The same when it is written and when it is read again. */
export function eventBytes(event: LogEvent): number {
  return 100 + memoryOf(event.data) + memoryOf(event.kept)
}
