import type { Clock } from "../../ports/clock.ts"
import {
  hourMs,
  sliceOf,
  spendingDays,
  type LedgerRow,
  type LedgerScope,
  type LedgerStore,
  type Measure,
  type Slice,
  type SliceRequest,
  type Spending,
  type SpendingKey,
  type SpendingQuery,
} from "../../ports/ledger.ts"

interface Sum {
  readonly caller: string
  readonly workflow: string
  readonly hour: number
  readonly model: string
  runs: number
  tokens: number
  cost: number
}

interface Held {
  readonly account: string
  readonly holder: string
  readonly amount: number
  readonly until: number
}

export class MemoryLedger implements LedgerStore {
  readonly #clock: Clock
  /** By run. */
  readonly #entries = new Map<string, LedgerRow[]>()
  readonly #sums = new Map<string, Sum>()
  #slices: Held[] = []

  constructor(clock: Clock) {
    this.#clock = clock
  }

  set(run_id: string, caller: string, workflow: string, rows: readonly LedgerRow[]): void {
    let own = this.#entries.get(run_id)
    if (own === undefined) this.#entries.set(run_id, (own = []))
    for (const row of rows) {
      const { hour, model } = row
      const at = own.findIndex((one) => one.hour === hour && one.model === model)
      const before = own[at]
      own[at < 0 ? own.length : at] = row
      const key = `${hour}\n${caller}\n${workflow}\n${model}`
      let sum = this.#sums.get(key)
      if (sum === undefined) this.#sums.set(key, (sum = { caller, workflow, hour, model, runs: 0, tokens: 0, cost: 0 }))
      sum.runs += row.runs - (before?.runs ?? 0)
      sum.tokens += row.tokens - (before?.tokens ?? 0)
      sum.cost += row.cost - (before?.cost ?? 0)
    }
  }

  /** The run is deleted: what it has used stays. */
  forget(run_id: string): void {
    this.#entries.delete(run_id)
  }

  sweep(now: number): void {
    for (const [key, { hour }] of this.#sums) {
      if ((hour + spendingDays * 24) * hourMs <= now) this.#sums.delete(key)
    }
    this.#slices = this.#slices.filter(({ until }) => until > now)
  }

  async hold(holder: string, requests: readonly SliceRequest[], until: number): Promise<readonly Slice[]> {
    const now = this.#clock.now()
    return requests.map((request) => {
      const account = `${request.key} ${request.from}`
      const others = this.#slices.filter((one) => one.account !== account || one.holder !== holder)
      const held = others.filter((one) => one.account === account && one.until > now)
      const slice = sliceOf(
        request,
        this.#used(request.scope, request.measure, request.from, request.to),
        held.reduce((sum, { amount }) => sum + amount, 0),
      )
      this.#slices = slice.amount > 0 ? [...others, { account, holder, amount: slice.amount, until }] : others
      return slice
    })
  }

  #used(scope: LedgerScope, measure: Measure, from: number, to: number): number {
    let used = 0
    for (const sum of this.#sums.values()) {
      if (sum.hour < from || sum.hour >= to) continue
      const isOwn = "caller" in scope ? sum.caller === scope.caller : sum.workflow === scope.workflow
      // Rows of models say how many runs used them.
      if (isOwn && (measure !== "runs" || sum.model === "")) used += sum[measure]
    }
    return used
  }

  async spending({ by, caller, from, to }: SpendingQuery): Promise<readonly Spending[]> {
    const found = new Map<string, { name: string; runs: number; tokens: number; cost: number }>()
    for (const sum of this.#sums.values()) {
      if (sum.hour < from || sum.hour >= to || (caller !== null && sum.caller !== caller)) continue
      if (by === "model" && sum.model === "") continue
      const name = nameOf(sum, by)
      const one = found.get(name) ?? { name, runs: 0, tokens: 0, cost: 0 }
      if (by === "model" || sum.model === "") one.runs += sum.runs
      one.tokens += sum.tokens
      one.cost += sum.cost
      found.set(name, one)
    }
    return [...found.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
  }
}

function nameOf(sum: Sum, by: SpendingKey): string {
  return by === "day" ? String(Math.floor(sum.hour / 24)) : sum[by]
}
