import type { ModelCallRecord } from "../../log/events.ts"
import { BoundedLabels } from "./bounded-labels.ts"
import type { Counter } from "./counters.ts"
import type { Instruments } from "./instruments.ts"

/** A provider, a model and a workflow with a name: each combination costs memory for ever. */
const maxUses = 2_000

/** Cost, tokens, calls, retries and fallbacks by the kind of provider and the id of the model; cost and tokens by workflow, too. */
export class ModelCounters {
  readonly #labels = new BoundedLabels()
  readonly #uses = new BoundedLabels(maxUses)
  readonly #cost: Counter<readonly [string, string, string, string, string]>
  readonly #tokens: Counter<readonly [string, string, string, string, string]>
  readonly #calls: Counter<readonly [string, string, string]>
  readonly #retries: Counter<readonly [string, string]>
  readonly #fallbacks: Counter<readonly [string, string]>

  constructor(make: Instruments) {
    const labels = ["provider", "model"] as const
    this.#cost = make.counter("wire_cost_total", "Cost of model calls, in the currency of the workflows' prices", [
      ...labels,
      "workflow",
      "release",
      "purpose",
    ])
    this.#tokens = make.counter("wire_tokens_total", "Tokens of model calls", [
      ...labels,
      "kind",
      "workflow",
      "release",
    ])
    this.#calls = make.counter("wire_model_calls_total", "Requests to model backends", [...labels, "outcome"])
    this.#retries = make.counter("wire_model_retries_total", "Requests that repeated one of the same turn", labels)
    this.#fallbacks = make.counter(
      "wire_model_fallbacks_total",
      "Models that failed for good, with another to go on",
      labels,
    )
  }

  /** The calls of one step of a workflow with this name, on this side of a release; empty for source that a caller sent. */
  count(calls: readonly ModelCallRecord[], workflow: string, release: string, purpose: "" | "score" = ""): void {
    const turns = calls.length > 1 ? new Set<string>() : null
    for (const call of calls) {
      const { provider, model } = this.#labelsOf(call)
      // A call that gave no answer has no format that held.
      this.#calls.of(provider, model, call.format === undefined ? "failed" : "answered").add()
      const turn = turns === null ? "" : `${call.turn} ${call.model ?? ""}`
      if (turns?.has(turn) === true) this.#retries.of(provider, model).add()
      turns?.add(turn)
      if (call.usage === undefined) continue
      this.#countUse(call.usage, this.#uses.of({ provider, model, workflow }), release, purpose)
    }
  }

  #countUse(
    usage: NonNullable<ModelCallRecord["usage"]>,
    { provider, model, workflow }: { readonly provider: string; readonly model: string; readonly workflow: string },
    release: string,
    purpose: string,
  ): void {
    const { input_tokens, output_tokens, cached_tokens, written_tokens, reasoning_tokens, cost } = usage
    this.#tokens.of(provider, model, "input", workflow, release).add(input_tokens)
    this.#tokens.of(provider, model, "output", workflow, release).add(output_tokens)
    if (cached_tokens > 0) this.#tokens.of(provider, model, "cached", workflow, release).add(cached_tokens)
    if (written_tokens > 0) this.#tokens.of(provider, model, "written", workflow, release).add(written_tokens)
    if (reasoning_tokens > 0) this.#tokens.of(provider, model, "reasoning", workflow, release).add(reasoning_tokens)
    if (typeof cost === "number") this.#cost.of(provider, model, workflow, release, purpose).add(cost)
  }

  /** `calls` are those of the model that failed. */
  fellBack([first]: readonly ModelCallRecord[]): void {
    const { provider, model } = first === undefined ? { provider: "", model: "" } : this.#labelsOf(first)
    this.#fallbacks.of(provider, model).add()
  }

  #labelsOf({ provider = "", id = "" }: ModelCallRecord): { readonly provider: string; readonly model: string } {
    return this.#labels.of({ provider, model: id })
  }
}
