import type { Clock } from "../ports/clock.ts"
import { StoreFailure, type RunStore } from "../ports/store.ts"

/** How often to look for waits that are due. */
const lookMs = 1_000
/** A process that received an event, and has not finished with it after so long, has died. */
const arrivingMs = 10_000

interface DuePorts {
  readonly clock: Clock
  readonly store: Pick<RunStore, "waits" | "sentEvents">
  /** Finishes an event whose receiver has died. */
  finishEvent(number: number): Promise<unknown>
  trouble?(): string | null
  bug(error: unknown): void
}

/** Stores that waits are due, and finishes events that a process left, until it is stopped. The store knows the earliest due time: where none has come, a look costs next to nothing. */
export async function settleDueWaits(ports: DuePorts, stop: AbortSignal): Promise<void> {
  const report = (error: unknown): void => {
    if (!(error instanceof StoreFailure)) ports.bug(error)
  }
  let finishAt = ports.clock.monotonic() + arrivingMs
  // What came due while no process was up is due at once.
  let next: number | null = 0
  for (;;) {
    const untilNext = next === null ? lookMs : Math.min(Math.max(next - ports.clock.now(), 0), lookMs)
    try {
      await ports.clock.sleep(untilNext, stop)
    } catch {
      return
    }
    next = null
    if ((ports.trouble?.() ?? null) !== null) continue
    try {
      const settled = await ports.store.waits.settleDue()
      next = await ports.store.waits.nextDue()
      // One that nobody could settle is looked at again after a while.
      if (settled === 0 && next !== null && next <= ports.clock.now()) next = null
      if (ports.clock.monotonic() < finishAt) continue
      finishAt = ports.clock.monotonic() + arrivingMs
      for (const number of await ports.store.sentEvents.unfinished(ports.clock.now() - arrivingMs)) {
        // One that cannot be finished keeps no other one waiting.
        await ports.finishEvent(number).catch(report)
      }
    } catch (error) {
      report(error)
    }
  }
}
