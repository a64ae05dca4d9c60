/** Nodes that start in one turn of the event loop: a plan may have tens of thousands that wait for nothing. */
const perTurn = 25

/**
 * Starts each node when those that it waits for are done, all that can side by side. Resolves when every started node has
 * settled. `onFailure` is called at once, so that it can stop the rest; nothing new is started once `stopped`. Work that needs no waiting
 * gives null: few nodes in a row may, because each starts the next.
 */
export function runGraph(
  waitsFor: readonly number[],
  dependents: readonly (readonly number[])[],
  work: (position: number) => Promise<void> | null,
  stopped: () => boolean,
  onFailure: (error: unknown) => void,
): Promise<void> {
  return new Promise((resolve) => {
    const waiting = waitsFor.slice()
    let active = 0
    let started = 0
    let later: number[] = []

    const start = (position: number): void => {
      active++
      if (started === perTurn) {
        later.push(position)
        return
      }
      started++
      if (started === perTurn) setImmediate(startLater)
      launch(position)
    }
    const startLater = (): void => {
      started = 0
      const due = later
      later = []
      for (const position of due) {
        // It was counted when it became due.
        active--
        if (!stopped()) start(position)
      }
      if (active === 0) resolve()
    }
    const launch = (position: number): void => {
      const failed = (error: unknown): void => {
        onFailure(error)
        settle()
      }
      try {
        const working = work(position)
        if (working === null) goOn(position)
        else working.then(() => goOn(position), failed)
      } catch (error) {
        failed(error)
      }
    }
    const goOn = (position: number): void => {
      for (const dependent of dependents[position] ?? []) {
        const left = (waiting[dependent] ?? 0) - 1
        waiting[dependent] = left
        if (left === 0 && !stopped()) start(dependent)
      }
      settle()
    }
    const settle = (): void => {
      active--
      if (active === 0) resolve()
    }

    // Counted as active itself, so that the end is not reached before all first ones have been started.
    active = 1
    for (const [position, count] of waitsFor.entries()) if (count === 0 && !stopped()) start(position)
    settle()
  })
}

/**
 * Does the work for 0 … count-1, in order of their start, at most `width` side by side. Memory does not grow with the
 * count: a few workers take one number after the other. After a failure no worker takes another one; it rejects with the
 * first failure when all have settled.
 */
export async function runEach(
  count: number,
  width: number,
  work: (index: number) => Promise<void>,
  onFailure: (error: unknown) => void,
): Promise<void> {
  let next = 0
  let failed: { readonly error: unknown } | null = null

  const worker = async (): Promise<void> => {
    while (next < count && failed === null) {
      const index = next++
      try {
        await work(index)
      } catch (error) {
        if (failed === null) {
          failed = { error }
          onFailure(error)
        }
      }
    }
  }

  await Promise.all(Array.from({ length: Math.min(width, count) }, worker))
  const first = failed as { readonly error: unknown } | null
  if (first !== null) throw first.error
}
