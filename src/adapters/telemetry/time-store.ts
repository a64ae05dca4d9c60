import { isStoreTrouble, type RunStore } from "../../ports/store.ts"
import { wrapStore } from "../../ports/wrap-store.ts"

export interface StoreTimer {
  /** This operation is timed from now on. */
  known(operation: string): void
  took(operation: string, duration_ms: number): void
  failed(operation: string): void
}

/** Operations that runs and requests wait for. */
const timed = ["create", "append", "lookup", "request", "read", "claim", "renew", "requestCancel"] as const

/** The same store; the operations that runs and requests wait for are timed. */
export function timeStore(store: RunStore, timer: StoreTimer, now: () => number): RunStore {
  for (const operation of timed) timer.known(operation)
  const operations: ReadonlySet<string> = new Set(timed)
  return wrapStore(store, (called, method) => {
    const name = called === "begin" ? "create" : called
    if (!operations.has(name)) return null
    return (...args) => {
      const startedAt = now()
      const result = method(...args)
      if (!(result instanceof Promise)) return result
      result.then(
        () => timer.took(name, now() - startedAt),
        (error: unknown) => isStoreTrouble(error) && timer.failed(name),
      )
      return result
    }
  })
}
