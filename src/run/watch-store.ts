import { isStoreTrouble, type RunStore, type StoreFailure } from "../ports/store.ts"
import { wrapStore } from "../ports/wrap-store.ts"
import type { Clock } from "../ports/clock.ts"
import type { Health } from "./health.ts"

const firstProbeMs = 500
const longestPauseMs = 5_000
/** Longer than an election or a failover takes. */
const lostMs = 30_000

/** What proves that the store can be written to. Claims, renewals and sweeps may have had nothing to write. */
const proofs: ReadonlySet<string> = new Set(["append", "begin", "failAsCorrupt", "create", "probe"])

/**
 * The same store. Its failures are reported to `health`; after one, the store is probed until it can be written to again, so
 * that the service recovers although it takes no work meanwhile. `lost` is called once for each failure that lasts and in which
 * the store cannot be read either.
 */
export function watchStore(
  store: RunStore,
  health: Health,
  clock: Clock,
  lost: (failure: StoreFailure) => void,
): { store: RunStore; stop: () => void } {
  const end = new AbortController()
  let probing = false

  const probeUntilItWorks = async (): Promise<void> => {
    const since = clock.monotonic()
    let told = false
    for (let pause = firstProbeMs; ; pause = Math.min(pause * 2, longestPauseMs)) {
      try {
        await clock.sleep(pause, end.signal)
      } catch {
        return
      }
      try {
        await store.probe()
        health.worked("store")
        return
      } catch (error) {
        health.failed("store", sentenceOf(error))
      }
      if (told || clock.monotonic() - since < lostMs) continue
      const failure = await whyUnreadable(store)
      if (failure === null || end.signal.aborted) continue
      told = true
      lost(failure)
    }
  }

  const failed = (error: unknown): void => {
    if (!isStoreTrouble(error) || end.signal.aborted) return
    health.failed("store", error.message)
    if (probing) return
    probing = true
    void probeUntilItWorks().finally(() => (probing = false))
  }

  const watched = wrapStore(store, (name, method) => {
    const worked = (): void => {
      if (proofs.has(name) && !probing) health.worked("store")
    }
    return (...args) => {
      const result = method(...args)
      if (result instanceof Promise) result.then(worked, failed)
      return result
    }
  })
  return { store: watched, stop: () => end.abort(new Error("The service stops")) }
}

/** Null where the store can be read: a full disk can. */
async function whyUnreadable(store: RunStore): Promise<StoreFailure | null> {
  try {
    await store.lookup("none")
    return null
  } catch (error) {
    return isStoreTrouble(error) ? error : null
  }
}

function sentenceOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
