import type { Clock } from "../ports/clock.ts"
import { StoreFailure, type RunStore } from "../ports/store.ts"

/** How often to look for waits that are due. */
const lookMs = 1_000

interface DuePorts {
  readonly clock: Clock
  readonly store: Pick<RunStore, "waits">
  trouble?(): string | null
  bug(error: unknown): void
}

/** Stores that waits are due, until it is stopped. The store knows the earliest due time: where none has come, a look costs next to nothing. */
export async function settleDueWaits(ports: DuePorts, stop: AbortSignal): Promise<void> {
  for (;;) {
    try {
      await ports.clock.sleep(lookMs, stop)
    } catch {
      return
    }
    if ((ports.trouble?.() ?? null) !== null) continue
    try {
      await ports.store.waits.settleDue()
    } catch (error) {
      if (!(error instanceof StoreFailure)) ports.bug(error)
    }
  }
}
