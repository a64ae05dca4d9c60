import type { Money } from "../../src/log/money.ts"
import type { World } from "./world.ts"

/** A call that reached a backend or a tool: somebody else's system, which cannot be asked to forget it. */
export interface LedgerCall {
  readonly kind: "model" | "tool"
  /** Owner of the lease that the caller believes it holds. */
  readonly owner: string
  /** The label of the run, what its `id` has after that in a call of a workflow, and the step and item (or turn) within it. */
  readonly run: string
  readonly part: string
  readonly step: string
  readonly at: number
  /** Of a call of a tool: which, and what it was asked to do. A resource that is read counts as one. */
  readonly tool: string | null
  readonly text: string
  /** Set for a tool of which a repeated call does harm: what it was asked to do. */
  readonly once: string | null
  /** What a model's answer cost; 0 for a call that is not answered, and for tools. */
  readonly tokens: number
  readonly cost: Money
}

/** What the outside world saw. */
export class Ledger {
  readonly calls: LedgerCall[] = []
  /** The `Idempotency-Key`s that the api has seen. */
  readonly keys = new Set<string>()
  readonly #world: World
  /** Added to the labels of runs: re-runs say the same as the runs before them, which have all ended. */
  suffix = ""

  constructor(world: World) {
    this.#world = world
  }

  /** `id` is that of the call of a workflow, or of the run: what the text begins with. */
  record({ id, ...asked }: Omit<LedgerCall, "at" | "run" | "part"> & { readonly id: string }): void {
    const [label = ""] = id.split("@", 1)
    const once = asked.once === null ? null : asked.once + this.suffix
    const part = id.slice(label.length)
    const call = { ...asked, once, run: label + this.suffix, part, at: this.#world.now }
    this.calls.push(call)
    this.#world.note(
      () =>
        `${call.owner} calls ${call.kind} for ${call.run}${part} ${call.step}${call.once === null ? "" : " (once)"}`,
    )
  }
}
