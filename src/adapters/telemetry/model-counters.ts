import type { Counter } from "prom-client"
import { cutText } from "../../base/cut-text.ts"
import type { ModelCallRecord } from "../../ports/events.ts"
import type { Instruments } from "./instruments.ts"

/** Callers write the ids of models: more than these are counted together. */
const mostModels = 200

type Labels = { readonly provider: string; readonly model: string }

/** Cost, tokens, calls, retries and fallbacks by the kind of provider and the id of the model. */
export class ModelCounters {
  readonly #known = new Map<string, Labels>()
  readonly #cost: Counter<"provider" | "model">
  readonly #tokens: Counter<"provider" | "model" | "kind">
  readonly #calls: Counter<"provider" | "model" | "outcome">
  readonly #retries: Counter<"provider" | "model">
  readonly #fallbacks: Counter<"provider" | "model">

  constructor(make: Instruments) {
    const labels = ["provider", "model"] as const
    this.#cost = make.counter(
      "wire_cost_total",
      "Cost of model calls, in the currency of the workflows' prices",
      labels,
    )
    this.#tokens = make.counter("wire_tokens_total", "Tokens of model calls", [...labels, "kind"])
    this.#calls = make.counter("wire_model_calls_total", "Requests to model backends", [...labels, "outcome"])
    this.#retries = make.counter("wire_model_retries_total", "Requests that repeated one of the same turn", labels)
    this.#fallbacks = make.counter(
      "wire_model_fallbacks_total",
      "Models that failed for good, with another to go on",
      labels,
    )
  }

  /** The calls of one step. */
  count(calls: readonly ModelCallRecord[]): void {
    const turns = new Set<string>()
    for (const call of calls) {
      const labels = this.#labels(call)
      // A call that gave no answer has no format that held.
      this.#calls.inc({ ...labels, outcome: call.format === undefined ? "failed" : "answered" })
      const turn = `${call.turn} ${call.model ?? ""}`
      if (turns.has(turn)) this.#retries.inc(labels)
      turns.add(turn)
      if (call.usage === undefined) continue
      const { input_tokens, output_tokens, cached_tokens, reasoning_tokens, cost } = call.usage
      this.#tokens.inc({ ...labels, kind: "input" }, input_tokens)
      this.#tokens.inc({ ...labels, kind: "output" }, output_tokens)
      if (cached_tokens > 0) this.#tokens.inc({ ...labels, kind: "cached" }, cached_tokens)
      if (reasoning_tokens > 0) this.#tokens.inc({ ...labels, kind: "reasoning" }, reasoning_tokens)
      if (typeof cost === "number") this.#cost.inc(labels, cost)
    }
  }

  /** `calls` are those of the model that failed. */
  fellBack([first]: readonly ModelCallRecord[]): void {
    this.#fallbacks.inc(first === undefined ? { provider: "", model: "" } : this.#labels(first))
  }

  #labels({ provider = "", id = "" }: ModelCallRecord): Labels {
    const key = `${provider} ${id}`
    let labels = this.#known.get(key)
    if (labels === undefined) {
      if (this.#known.size >= mostModels) return { provider, model: "other" }
      labels = { provider, model: cutText(id, 100) }
      this.#known.set(key, labels)
    }
    return labels
  }
}
