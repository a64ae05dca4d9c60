import type { LogEvent, ModelCallRecord } from "../../ports/events.ts"
import type { Kept, KeptModelCall, KeptWorkflowCall } from "../log/kept.ts"
import type { PriceOf } from "../usage.ts"
import type { Used, UsedByAll } from "./budget.ts"
import { nothingUsed, spentOf } from "./budget.ts"
import type { Money } from "./money.ts"
import { toMoney } from "./money.ts"

interface OpenCall {
  readonly agent: string
  readonly model: string
  readonly tokens: number
  readonly cost: Money | null
}

/** Adds up what the log of a run with limits says was used. */
export class UsedReader {
  readonly #priceOf: PriceOf
  readonly #run = nothingUsed()
  readonly #agents = new Map<string, Used>()
  readonly #open = new Map<string, OpenCall>()
  readonly #calls = new Set<string>()

  constructor(priceOf: PriceOf) {
    this.#priceOf = priceOf
  }

  take(event: LogEvent): void {
    switch (event.type) {
      case "model_call_started": {
        const { agent, iteration, turn, attempt, model, reserved } = event.data
        this.#count(agent, "model_calls")
        const cost = reserved.cost === null ? null : toMoney(reserved.cost)
        this.#open.set(callKey(agent, iteration, turn, attempt), { agent, model, tokens: reserved.tokens, cost })
        return
      }
      case "agent_retried": {
        const { progress } = (event.kept ?? {}) as Partial<Kept<"agent_retried">>
        if (progress !== undefined) this.#ended(event.data, progress.new_calls)
        return
      }
      case "agent_fallback":
        this.#ended(event.data, (event.kept as Kept<"agent_fallback"> | undefined)?.calls ?? [])
        return
      case "context_compacted":
        this.#ended(event.data, (event.kept as Kept<"context_compacted"> | undefined)?.calls ?? [])
        return
      case "agent_completed":
      case "agent_failed":
        this.#ended(event.data, event.data.calls)
        return
      case "question_asked": {
        // A call counts from the first question about it on.
        const { call_id, iteration } = event.data
        const kept = event.kept as Kept<"question_asked"> | undefined
        if (call_id !== undefined && kept !== undefined && "call" in kept) {
          this.#called(call_id, kept.agent, iteration, kept.call)
        }
        return
      }
      case "tool_call_started": {
        const { agent, iteration, call_id } = event.data
        this.#called(call_id, agent, iteration, event.kept as Kept<"tool_call_started"> | undefined)
        return
      }
      case "tool_call_failed":
        if ((event.kept as Kept<"tool_call_failed"> | undefined)?.refused === true) {
          this.#count(event.data.agent ?? null, "tool_calls", -1)
        }
        return
      case "resource_read": {
        // One that a model asked for is a tool call.
        const kept = event.kept as Kept<"resource_read"> | undefined
        if (kept !== undefined) this.#count(kept.agent ?? null, "tool_calls")
        return
      }
      default:
        return
    }
  }

  /** Calls without an outcome count with what they had reserved. */
  total(): UsedByAll {
    const run = { ...this.#run }
    const agents = new Map([...this.#agents].map(([name, used]) => [name, { ...used }]))
    for (const { agent, tokens, cost } of this.#open.values()) {
      for (const used of [run, agents.get(agent)]) {
        if (used === undefined) continue
        used.tokens += tokens
        used.cost += cost ?? 0n
      }
    }
    return { run, agents }
  }

  #called(
    call_id: string,
    agent: string | undefined,
    iteration: number | undefined,
    kept: KeptModelCall | KeptWorkflowCall | undefined,
  ): void {
    if (this.#calls.has(call_id)) return
    this.#calls.add(call_id)
    this.#count(agent ?? null, "tool_calls")
    if (agent !== undefined && kept !== undefined && "answer" in kept && kept.answer !== undefined) {
      this.#ended({ agent, ...(iteration === undefined ? {} : { iteration }) }, kept.answer.calls)
    }
  }

  #ended(about: { readonly agent: string; readonly iteration?: number }, calls: readonly ModelCallRecord[]): void {
    for (const { turn, attempt, usage, format } of calls) {
      const key = callKey(about.agent, about.iteration, turn, attempt)
      const open = this.#open.get(key)
      if (open === undefined) continue
      this.#open.delete(key)
      const spent = spentOf(usage ?? null, format !== undefined, open, this.#priceOf(open.model))
      for (const used of this.#both(about.agent)) {
        used.tokens += spent.tokens
        used.cost += spent.cost
      }
    }
  }

  #count(agent: string | null, key: "model_calls" | "tool_calls", by = 1): void {
    for (const used of this.#both(agent)) used[key] += by
  }

  #both(agent: string | null): Used[] {
    if (agent === null) return [this.#run]
    let used = this.#agents.get(agent)
    if (used === undefined) {
      used = nothingUsed()
      this.#agents.set(agent, used)
    }
    return [this.#run, used]
  }
}

function callKey(agent: string, iteration: number | undefined, turn: number, attempt: number): string {
  return `${agent}#${iteration ?? ""}#${turn}#${attempt}`
}
