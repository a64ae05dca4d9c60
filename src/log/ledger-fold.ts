import type { EventData, LogEvent, ModelCallRecord } from "./events.ts"
import { isTerminal } from "./events.ts"
import { spentOf } from "./consumption.ts"
import type { Money } from "./money.ts"
import { toMoney } from "./money.ts"
import type { ModelCallReplayData, ReplayData } from "./replay-data.ts"
import { totalTokens } from "./usage.ts"
import { endedWork } from "./usage-after.ts"

/** What a run has used of a model in an hour since the epoch. The cost is in billionths. */
export interface LedgerRow {
  readonly hour: number
  /** The backend's id; empty for what belongs to no model. */
  readonly model: string
  /** 1 in the first hour in which the run used it. */
  readonly runs: number
  readonly tokens: number
  readonly cost: number
}

interface StepOfCalls {
  readonly agent: string
  readonly iteration?: number | undefined
  readonly scope?: string | undefined
}

type CallStartData = ReplayData<"model_call_started">
type BatchData = ReplayData<"batch_prepared">

interface Sum {
  readonly hour: number
  readonly model: string
  /** Null while nothing counts in it. */
  runs: number | null
  tokens: number
  cost: Money
  /** Since it was last asked for. */
  changed: boolean
}

interface Started {
  readonly sum: Sum
  readonly reserved: { readonly tokens: number; readonly cost: Money | null }
  readonly price: CallStartData["price"]
  /** Its reservation counts: nobody knows whether it was answered. */
  cut: boolean
}

const hourMs = 3_600_000
const nano = 1_000_000_000n
/** A name that is longer is cut: names of models come from callers. */
const nameLength = 200

const none: readonly string[] = []

/** Which call of a run it is. */
export function callKey(
  about: { readonly agent: string; readonly iteration?: number | undefined; readonly scope?: string | undefined },
  turn: number,
  attempt: number,
): string {
  return `${about.scope ?? ""}/${about.agent}#${about.iteration ?? ""}#${turn}#${attempt}`
}

/**
 * Adds up what a run has used in each hour, from its log alone: whoever reads the same log gets the same entries. A call counts in the hour of its
 * reservation, with what it used; one that was cut off counts with the reservation.
 */
export class LedgerFold {
  /** A run has few: one for each model and hour. */
  readonly #sums: Sum[] = []
  /** Calls that are among the sums, though the step that made them goes on: it will tell of them again. */
  #early: Set<string> | null = null
  /** Made for the first call that is reserved. */
  #started: Map<string, Started> | null = null

  /** Gives the calls whose use is among the sums from now on. */
  take(event: LogEvent): readonly string[] {
    if (event.type === "run_resumed") return this.#cutOff()
    if (event.type === "model_call_started") {
      this.#begin(event.data, event.kept as unknown as CallStartData | undefined, Date.parse(event.at))
      return none
    }
    if (event.type === "batch_prepared") {
      return this.#beginBatch(event.data, event.kept as unknown as BatchData | undefined, Date.parse(event.at))
    }
    if (event.type === "batch_left") {
      this.#leaveBatch(event.data, event.kept as unknown as ReplayData<"batch_left"> | undefined)
      return none
    }
    const work = endedWork(event)
    if (work !== null) return this.#end({ ...work, ...scopeOf(event.data) }, work.calls)
    const turn = endedCalls(event)
    if (turn !== null) return this.#endEarly({ ...turn, ...scopeOf(event.data) }, turn.calls)
    if (!isTerminal(event.type)) return none
    const { interrupted = [] } = event.data as Partial<EventData["workflow_failed"]>
    const ended = interrupted.flatMap((step) => this.#end(step, step.calls))
    return [...ended, ...this.#cutOff()]
  }

  /** Entries that have changed since this was last asked. */
  changed(): readonly LedgerRow[] {
    const changed = this.#sums.filter((sum) => sum.changed)
    for (const sum of changed) sum.changed = false
    return changed.flatMap(rowsOf)
  }

  /** All entries. */
  rows(): readonly LedgerRow[] {
    return this.#sums.flatMap(rowsOf)
  }

  #begin(data: EventData["model_call_started"], kept: CallStartData | undefined, at: number): void {
    const { turn, attempt, model, reserved } = data
    const cost = kept?.cost ?? reserved.cost
    this.#started ??= new Map()
    const key = callKey({ ...data, ...scopeOf(data) }, turn, attempt)
    // A step that began anew counts its calls from 1 again.
    this.#early?.delete(key)
    this.#started.set(key, {
      sum: this.#sumAt(at, kept?.id ?? model),
      reserved: { tokens: reserved.tokens, cost: cost === null ? null : toMoney(cost) },
      price: kept?.price ?? null,
      cut: false,
    })
  }

  /** What a batch may use counts as used until the log tells more: nobody holds it while its run waits. */
  #beginBatch(data: EventData["batch_prepared"], kept: BatchData | undefined, at: number): string[] {
    const all = (this.#started ??= new Map<string, Started>())
    return (kept?.items ?? []).flatMap(({ iteration, attempt, reserved }) => {
      if (kept === undefined || reserved === undefined) return []
      const { tokens, cost, budgeted = cost } = reserved
      const key = callKey({ agent: data.agent, iteration, ...scopeOf(data) }, 1, attempt)
      const own = { tokens, cost: budgeted === null ? null : toMoney(budgeted) }
      const sum = this.#sumAt(at, kept.id)
      all.set(key, { sum, reserved: own, price: kept.price, cut: true })
      this.#add(sum, own.tokens, own.cost ?? 0n)
      return [key]
    })
  }

  /** Calls that are made directly after all: those of a batch are not made. */
  #leaveBatch(data: EventData["batch_left"], kept: ReplayData<"batch_left"> | undefined): void {
    for (const { iteration, attempt } of kept?.calls ?? []) {
      const key = callKey({ agent: data.agent, iteration, ...scopeOf(data) }, 1, attempt)
      const started = this.#started?.get(key)
      if (started?.cut !== true) continue
      this.#started?.delete(key)
      this.#add(started.sum, -started.reserved.tokens, -(started.reserved.cost ?? 0n))
    }
  }

  /** A step may wait for days before it ends. */
  #endEarly(about: StepOfCalls, calls: readonly ModelCallRecord[]): string[] {
    const early = (this.#early ??= new Set<string>())
    const fresh = calls.filter(({ turn, attempt }) => !early.has(callKey(about, turn, attempt)))
    const keys = this.#end(about, fresh)
    for (const key of keys) early.add(key)
    return keys
  }

  #end(about: StepOfCalls, calls: readonly ModelCallRecord[]): string[] {
    return calls.map((call) => {
      const { turn, attempt, usage = null, format, cut_off, id, model = "", started_at } = call
      const key = callKey(about, turn, attempt)
      if (this.#early?.delete(key) === true) return key
      const started = this.#started?.get(key)
      if (this.#started === null || started === undefined) {
        if (usage !== null && started_at !== undefined) {
          this.#add(
            this.#sumAt(Date.parse(started_at), id ?? model),
            totalTokens(usage),
            usage.cost ? toMoney(usage.cost) : 0n,
          )
        }
        return key
      }
      this.#started.delete(key)
      const { sum, reserved, price, cut } = started
      if (cut) this.#add(sum, -reserved.tokens, -(reserved.cost ?? 0n))
      const spent = spentOf(usage, format !== undefined || cut_off === true, reserved, price)
      this.#add(sum, spent.tokens, spent.cost)
      return key
    })
  }

  /** Calls that are open count with what they reserved, until the log tells more of them. */
  #cutOff(): readonly string[] {
    if (this.#started === null) return none
    const ended: string[] = []
    for (const [key, started] of this.#started) {
      if (started.cut) continue
      started.cut = true
      this.#add(started.sum, started.reserved.tokens, started.reserved.cost ?? 0n)
      ended.push(key)
    }
    return ended
  }

  #add(sum: Sum, tokens: number, cost: Money): void {
    // In its first hour a run counts for the model.
    sum.runs ??= this.#sums.some(({ model, runs }) => model === sum.model && runs !== null) ? 0 : 1
    sum.tokens += tokens
    sum.cost += cost
    sum.changed = true
  }

  #sumAt(at: number, name: string): Sum {
    const hour = Math.floor(at / hourMs)
    const model = name.slice(0, nameLength)
    let sum = this.#sums.find((one) => one.hour === hour && one.model === model)
    if (sum === undefined) {
      sum = { hour, model, runs: null, tokens: 0, cost: 0n, changed: false }
      this.#sums.push(sum)
    }
    return sum
  }
}

/** Calls that have ended in a step that goes on; null for all other events. */
function endedCalls(event: LogEvent): (StepOfCalls & { readonly calls: readonly ModelCallRecord[] }) | null {
  switch (event.type) {
    case "agent_retried": {
      const { progress } = (event.kept as unknown as ReplayData<"agent_retried"> | undefined) ?? {}
      return progress === undefined ? null : { ...placeIn(event.data), calls: progress.new_calls }
    }
    case "agent_fallback": {
      const { calls = [] } = (event.kept as unknown as ReplayData<"agent_fallback"> | undefined) ?? {}
      return { ...placeIn(event.data), calls }
    }
    case "tool_call_started": {
      const kept = event.kept as unknown as ReplayData<"tool_call_started"> | undefined
      return ofTurn(event.data.agent, event.data.iteration, kept)
    }
    case "workflow_call_started": {
      const { call } = (event.kept as unknown as ReplayData<"workflow_call_started"> | undefined) ?? {}
      return ofTurn(event.data.agent, event.data.iteration, call)
    }
    case "question_asked": {
      const kept = event.kept as unknown as ReplayData<"question_asked"> | undefined
      return kept === undefined || "place" in kept ? null : ofTurn(kept.agent, event.data.iteration, kept.call)
    }
    default:
      return null
  }
}

function placeIn({ agent, iteration }: StepOfCalls): StepOfCalls {
  return { agent, iteration }
}

/** The calls of the turn that made this call. */
function ofTurn(
  agent: string | undefined,
  iteration: number | undefined,
  call: object | undefined,
): ReturnType<typeof endedCalls> {
  const { answer } = (call ?? {}) as Partial<ModelCallReplayData>
  return agent === undefined || answer === undefined ? null : { agent, iteration, calls: answer.calls }
}

function scopeOf(data: object): { readonly scope?: string } {
  return "scope" in data && typeof data.scope === "string" ? { scope: data.scope } : {}
}

function rowsOf({ hour, model, runs, tokens, cost }: Sum): LedgerRow[] {
  return runs === null ? [] : [{ hour, model, runs, tokens, cost: Number((cost + nano / 2n) / nano) }]
}
