/** The steps of one piece of work over what strangers sent. The work ends with `OverBudget` when they are used up. */
export class StepBudget {
  readonly #most: number
  #used = 0

  constructor(most: number) {
    this.#most = most
  }

  get used(): number {
    return this.#used
  }

  spend(steps = 1): void {
    this.#used += steps
    if (this.#used > this.#most) throw new OverBudget()
  }

  /** Recursion over foreign data ends here, long before the stack does: on every machine at the same place. */
  enter(depth: number): void {
    if (depth > deepest) throw new OverBudget()
    this.spend()
  }
}

/** Values are at most 200 levels deep and schemas 64; both together stay far below this. */
const deepest = 400

/** Work that its input made too large. */
export class OverBudget extends Error {
  constructor() {
    super("This takes too many steps")
    this.name = "OverBudget"
  }
}
