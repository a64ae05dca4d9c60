/** Calls that wait for room in budgets. Those that need the same budget go in the order in which they came; a later one that is smaller overtakes nobody. */
export class CallQueue {
  /** By budget, the oldest first. */
  readonly #lines = new Map<string, Set<QueuedCall>>()

  /** Whether no call waits for one of these budgets. */
  isFree(budgets: readonly string[]): boolean {
    return budgets.every((key) => !this.#lines.has(key))
  }

  /** Does the work when all that came before for one of these budgets have done theirs. Rejects with the signal's reason when that aborts first. */
  async inTurn<T>(budgets: readonly string[], signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const call = this.#enter(budgets)
    const stop = new AbortController()
    try {
      if (!this.#isFirst(call)) {
        await new Promise<void>((resolve, reject) => {
          call.begin = resolve
          signal.addEventListener("abort", () => reject(signal.reason as Error), { signal: stop.signal })
        })
      }
      return await work()
    } finally {
      stop.abort()
      this.#leave(call)
    }
  }

  #enter(budgets: readonly string[]): QueuedCall {
    const call: QueuedCall = { budgets, begin: () => undefined }
    for (const key of budgets) {
      const line = this.#lines.get(key) ?? new Set()
      this.#lines.set(key, line.add(call))
    }
    return call
  }

  #leave(call: QueuedCall): void {
    for (const key of call.budgets) {
      const line = this.#lines.get(key)
      line?.delete(call)
      const [next] = line ?? []
      if (next === undefined) this.#lines.delete(key)
      else if (this.#isFirst(next)) next.begin()
    }
  }

  #isFirst(call: QueuedCall): boolean {
    return call.budgets.every((key) => {
      const [first] = this.#lines.get(key) ?? []
      return first === call
    })
  }
}

interface QueuedCall {
  readonly budgets: readonly string[]
  begin: () => void
}
