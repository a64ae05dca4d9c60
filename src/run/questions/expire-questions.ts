import type { Clock } from "../../ports/clock.ts"
import { StoreFailure, type RunStore } from "../../ports/store.ts"

/** How often to look for questions that have expired. */
const lookMs = 1_000

interface ExpiryPorts {
  readonly clock: Clock
  readonly store: Pick<RunStore, "questions">
  trouble?(): string | null
  bug(error: unknown): void
}

/** Stores the expiry of questions, until it is stopped. The store knows the earliest expiry: where none is due, a look costs next to nothing. */
export async function expireQuestions(ports: ExpiryPorts, stop: AbortSignal): Promise<void> {
  for (;;) {
    try {
      await ports.clock.sleep(lookMs, stop)
    } catch {
      return
    }
    if ((ports.trouble?.() ?? null) !== null) continue
    try {
      await ports.store.questions.expire()
    } catch (error) {
      if (!(error instanceof StoreFailure)) ports.bug(error)
    }
  }
}
