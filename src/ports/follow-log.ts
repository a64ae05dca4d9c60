import { WakeUp } from "../base/wake-up.ts"
import { isTerminal, type LogEvent } from "../log/events.ts"
import { NoSuchRun } from "./store.ts"

export interface LogPage {
  /** The next events, as many as fit in memory for each of thousands of readers. */
  readonly events: readonly LogEvent[]
  /** With no events: there will be none any more. */
  readonly over: boolean
  /** With no events: the run was there when the follower came, and has been deleted. */
  readonly gone?: boolean
}

/** A log that grows, as `RunStore.follow` needs to see it. */
export interface GrowingLog {
  readonly run_id: string
  page(after: number): LogPage | Promise<LogPage>
  /** From now on each append rings the bell. The result stops that. */
  watch(wakeUp: WakeUp): () => void
}

/** The whole of `RunStore.follow` but for where pages come from. */
export async function* followLog(log: GrowingLog, after: number, signal: AbortSignal): AsyncGenerator<LogEvent> {
  const wakeUp = new WakeUp()
  const wake = () => wakeUp.signal()
  // Watch first, then read: what is appended in between rings for a page that is read again.
  const unwatch = log.watch(wakeUp)
  signal.addEventListener("abort", wake, { once: true })
  try {
    let last = after
    while (!signal.aborted) {
      const { events, over, gone } = await log.page(last)
      for (const event of events) {
        yield event
        if (signal.aborted || isTerminal(event.type)) return
        last = event.id
      }
      if (events.length > 0) continue
      if (gone === true) throw new NoSuchRun(log.run_id)
      if (over) return
      await wakeUp.signalled()
    }
  } finally {
    signal.removeEventListener("abort", wake)
    unwatch()
  }
}
