import type { ModelCallRecord, WireError } from "../../log/events.ts"
import { failureAt } from "../context/failure.ts"
import type { ModelTurn } from "../../ports/model.ts"
import { RunFailure, wireError } from "../../ports/run-failure.ts"
import type { BegunTurn, FallbackReplayState } from "../../log/replay-state.ts"
import { callStored, type RunContext } from "../context/run-context.ts"
import type { Caller } from "./agent-tools.ts"

/** The kinds of errors after which the next model is asked. */
const fallsBack: readonly string[] = ["provider_error", "timeout", "output_error"]

/** The models of an agent or of a compaction, asked in their order: the next one goes on when one has failed for good. */
export class ModelList<Model extends { readonly name: string }> {
  readonly #running: RunContext
  readonly #caller: Caller
  readonly #models: readonly Model[]
  readonly #spent: (calls: readonly ModelCallRecord[]) => void
  #reached = 0
  #said: { readonly model: string; readonly error: WireError }[] = []

  /** `spent` is given the calls of a model that has failed. */
  constructor(
    running: RunContext,
    caller: Caller,
    models: readonly Model[],
    spent: (calls: readonly ModelCallRecord[]) => void,
  ) {
    this.#running = running
    this.#caller = caller
    this.#models = models
    this.#spent = spent
  }

  /** The model that is asked next. */
  get reached(): Model | undefined {
    return this.#models[this.#reached]
  }

  get fellBack(): boolean {
    return this.#reached > 0
  }

  /** Takes in what the log says about a turn. */
  replay(fallbacks: readonly FallbackReplayState[]): void {
    for (const { from, to, error, calls } of fallbacks) {
      const position = this.#models.findIndex(({ name }) => name === to)
      if (position > this.#reached) this.#reached = position
      this.#said.push({ model: from, error })
      this.#spent(calls)
    }
  }

  /** One turn with the model that is reached, or with one after it. */
  async ask(
    turn: number,
    begun: BegunTurn | undefined,
    call: (model: Model, begun: BegunTurn | undefined) => Promise<ModelTurn>,
  ): Promise<ModelTurn> {
    for (let before = begun; ;) {
      const model = this.#models[this.#reached]
      if (model === undefined) throw new Error(`${this.#caller.path} has no model`)
      try {
        return await callStored(this.#running, () => call(model, before))
      } catch (error) {
        if (this.#running.signal.aborted || !(error instanceof RunFailure)) throw error
        if (!fallsBack.includes(error.error.kind)) throw error
        const next = this.#models[this.#reached + 1]
        if (next === undefined) throw this.#withEarlier(model, error)
        before = this.#fallBack(model, next, error, turn, before?.attempts ?? 0)
      }
    }
  }

  #fallBack(from: Model, to: Model, failed: RunFailure, turn: number, attemptsBefore: number): BegunTurn {
    const { error, calls, answer } = failureAt(this.#caller.path, failed)
    const attempts = Math.max(attemptsBefore, ...calls.map(({ attempt }) => attempt))
    this.#running.log.add(
      "agent_fallback",
      { ...this.#caller.about, from: from.name, to: to.name, error, ...(answer === undefined ? {} : { answer }) },
      { turn, attempts, calls },
    )
    this.#reached++
    this.#said.push({ model: from.name, error })
    this.#spent(calls)
    return { attempts, progress: null }
  }

  /** The error of the last model, and after its own issues what the others said. */
  #withEarlier(model: Model, failed: RunFailure): RunFailure {
    if (this.#said.length === 0) return failed
    const last = failureAt(this.#caller.path, failed).error
    const said = [{ model: model.name, error: last }, ...this.#said].flatMap(({ model: name, error }) =>
      error.issues.map((issue) => ({ ...issue, message: `model.${name}: ${issue.message}` })),
    )
    const [first = { path: this.#caller.path, message: last.message }, ...others] = said
    return new RunFailure(wireError(last.kind, [first, ...others]), failed.calls, failed.answer)
  }
}
