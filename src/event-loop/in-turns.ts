/** Yields: resolves in the next turn of the event loop, after everything that has arrived for others. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/** Yields after long work: others have the process once this work has had it for `turnMs`. */
export class YieldTimer {
  readonly #turnMs: number
  #since = performance.now()

  constructor(turnMs: number) {
    this.#turnMs = turnMs
  }

  isDue(): boolean {
    return performance.now() - this.#since >= this.#turnMs
  }

  async yieldIfDue(): Promise<void> {
    if (!this.isDue()) return
    await nextTurn()
    this.#since = performance.now()
  }
}

/** Items that are looked at in one turn of the event loop. */
const perTurn = 2000

/** Hands over the items in parts, with a turn of the event loop between the parts: a workflow may have tens of thousands of them. */
export async function inTurns<T>(items: readonly T[], take: (part: readonly T[]) => void): Promise<void> {
  if (items.length <= perTurn) return take(items)
  for (let from = 0; from < items.length; from += perTurn) {
    await nextTurn()
    take(items.slice(from, from + perTurn))
  }
  await nextTurn()
}

/** Milliseconds after which others have their turn. */
const longestTurn = 10

/** Does the steps of some work, with a turn of the event loop after every few milliseconds. `take` gets what each step yields. */
export async function stepsInTurns<Part, Result>(
  work: Generator<Part, Result, undefined>,
  take: (part: Part) => void = () => {},
): Promise<Result> {
  const timer = new YieldTimer(longestTurn)
  for (;;) {
    const step = work.next()
    if (step.done === true) return step.value
    take(step.value)
    if (timer.isDue()) await timer.yieldIfDue()
  }
}
