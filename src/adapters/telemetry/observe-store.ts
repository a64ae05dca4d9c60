import { LeaseLost, type Lease, type RunStore } from "../../ports/store.ts"
import type { LogEvent } from "../../log/events.ts"
import { overlayStore } from "../../ports/wrap-store.ts"
import type { RunObserver } from "./run-observer.ts"

/** The same store; observers are called with every event that is appended through it. */
export function observeStore(store: RunStore, observers: readonly RunObserver[]): RunStore {
  const left = (run_id: string): void => {
    for (const observer of observers) observer.left?.(run_id)
  }
  return overlayStore(store, {
    async failAsCorrupt(lease: Lease, end: LogEvent): Promise<void> {
      await store.failAsCorrupt(lease, end)
      for (const observer of observers) observer.appended(lease.run_id, [end])
    },
    append(...[lease, events, entries, move]: Parameters<RunStore["append"]>): Promise<void> {
      return store.append(lease, events, entries, move).then(
        () => {
          for (const observer of observers) observer.appended(lease.run_id, events)
        },
        (error: unknown) => {
          if (error instanceof LeaseLost) left(lease.run_id)
          throw error
        },
      )
    },
    release(lease: Lease): Promise<void> {
      left(lease.run_id)
      return store.release(lease)
    },
  })
}
