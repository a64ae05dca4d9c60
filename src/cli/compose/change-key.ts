import { isStoreTrouble } from "../../ports/store.ts"
import type { KeyChange } from "../../ports/vault.ts"
import type { ServerLog } from "../../server/route-dependencies.ts"

const progressMs = 10_000
const againMs = 5_000

export interface KeyChangeCounts {
  /** How many things have been rewritten, and how many are left to look at. */
  progressed(rewritten: number, left: number): void
}

/**
 * Rewrites what is under the old key, in small steps beside the service's work, until nothing is left. The result stops it; a later
 * start goes on. A store that fails is tried again.
 */
export function changeKey(change: KeyChange, counts: KeyChangeCounts, log: ServerLog): () => void {
  let stopped = false
  let timer: NodeJS.Timeout | undefined
  const pause = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      timer = setTimeout(resolve, ms)
      timer.unref()
    })
  const work = async (): Promise<void> => {
    log.info({}, "the encryption key is being changed: what is stored under the old key is rewritten")
    let [all, saidAt] = [0, performance.now()]
    while (!stopped) {
      try {
        const { rewritten, left } = await change.step()
        all += rewritten
        counts.progressed(rewritten, left)
        if (left === 0) {
          log.info({ rewritten: all }, "the encryption key has been changed: remove WIRE_ENCRYPTION_KEY_OLD")
          return
        }
        if (performance.now() - saidAt >= progressMs) {
          saidAt = performance.now()
          log.info({ rewritten: all, left }, "the encryption key is being changed")
        }
        await pause(1)
      } catch (error) {
        if (stopped) return
        if (!isStoreTrouble(error)) log.error({ err: error }, "unexpected error")
        await pause(againMs)
      }
    }
  }
  void work()
  return () => {
    stopped = true
    clearTimeout(timer)
  }
}
