import type { LedgerRow } from "../log/ledger-fold.ts"

export type { LedgerRow }

/** Amounts of money in the ledger are whole billionths. */
export const nano = 1e9

/** What budgets count. */
export const measures = ["cost", "tokens", "runs"] as const

export type Measure = (typeof measures)[number]

/** The use of a caller, or of a workflow. */
export type LedgerScope = { readonly caller: string } | { readonly workflow: string }

/** One amount that may be used in a period. Times are in hours since the epoch. */
export interface Account {
  /** Names the account, whatever its limit is; one for each period. */
  readonly key: string
  readonly scope: LedgerScope
  readonly measure: Measure
  readonly from: number
  readonly to: number
  readonly limit: number
}

/**
 * What a process wants to hold of an account: `keep` in any case, and up to `want` where there is room for `least`. Processes that each held a part of the
 * room that their calls need would wait for each other.
 */
export interface SliceRequest extends Account {
  readonly keep: number
  readonly least: number
  readonly want: number
}

export interface Slice {
  /** What the process holds from now on. */
  readonly amount: number
  /** What has been used, and what other processes hold. */
  readonly used: number
  readonly others: number
}

export const spendingKeys = ["day", "workflow", "caller", "model"] as const

export type SpendingKey = (typeof spendingKeys)[number]

export interface SpendingQuery {
  readonly by: SpendingKey
  /** Null: all callers. */
  readonly caller: string | null
  /** In hours since the epoch; `to` is not included. */
  readonly from: number
  readonly to: number
}

/** `cost` is in billionths. `name` of a day is its number since the epoch. */
export interface Spending {
  readonly name: string
  readonly runs: number
  readonly tokens: number
  readonly cost: number
}

/**
 * What runs have used, by hour. An append sets the entries of its run in the same step (`RunStore.append`), and the sums follow from that: so each call counts once, whatever
 * crashes. What a run has used stays in the sums when the run is deleted.
 */
export interface LedgerStore {
  /**
   * Sets what a process holds of some accounts, in one step, until a time of the store: then it holds nothing. Used and held amounts together never exceed the limit by what
   * is granted here; `keep` is granted in any case.
   */
  hold(holder: string, requests: readonly SliceRequest[], until: number): Promise<readonly Slice[]>
  spending(query: SpendingQuery): Promise<readonly Spending[]>
}

export const hourMs = 3_600_000

/** For how long sums are kept. */
export const spendingDays = 400

/** What a slice is, given what is used and what others hold. */
export function sliceOf({ limit, keep, least, want }: SliceRequest, used: number, others: number): Slice {
  const room = Math.min(want, limit - used - others)
  return { amount: room < least ? keep : Math.max(keep, room), used, others }
}

/** The entry of a run that begins. */
export function beginningEntry(created_at: number): LedgerRow {
  return { hour: Math.floor(created_at / hourMs), model: "", runs: 1, tokens: 0, cost: 0 }
}
