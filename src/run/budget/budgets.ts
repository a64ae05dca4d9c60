import { isoTime } from "../../base/iso-time.ts"
import type { WireError } from "../../log/events.ts"
import { outputFor, worstCost, type HostedCounts, type Money } from "../../log/money.ts"
import type { Price } from "../../plan/price-of-model.ts"
import type { Clock } from "../../ports/clock.ts"
import { hourMs, type Account, type Slice, type SliceRequest } from "../../ports/ledger.ts"
import { RunEnding, wireError } from "../../ports/run-failure.ts"
import { isStoreTrouble, type RunStore } from "../../ports/store.ts"
import type { WaitPage } from "../../ports/waits.ts"
import { CallQueue } from "./call-queue.ts"
import { limitInLedger, periodAt, shownAmount, type AppliedBudget, type BudgetList } from "./budget-list.ts"

/** A part of each limit that a process takes at once. */
const slicePart = 0.01
/** So long a process holds its slices, by the store's time, without saying so again; and how often it says so. */
const holdMs = 30_000
const renewMs = 10_000
/** Slices that no call uses any more are given back after this. */
const idleMs = 200
/** A run may begin by facts of this age, where there is room enough. */
const staleMs = 1_000
/** So long a call waits for the reservations of others, and how often it asks. */
const waitMs = 60_000
const askAgainMs = 1_000
const patienceMs = 60_000

export interface BudgetsParts {
  /** The budgets that count now. */
  readonly list: () => BudgetList
  readonly store: Pick<RunStore, "ledger" | "waits">
  readonly clock: Clock
  /** Names this process. */
  readonly holder: string
  readonly bug: (error: unknown) => void
}

/** A call of a model that wants to be made. */
export interface BudgetCall {
  readonly caller: string
  readonly workflow: string | null
  readonly input: number
  readonly output: number
  /** The fewest output tokens that are of use: an answer with fewer was cut off. Absent: 1. */
  readonly least?: number | undefined
  /** Null: it has no price that budgets go by. */
  readonly price: Price | null
  /** Uses of hosted tools that are expected of it. */
  readonly hosted?: HostedCounts | undefined
  readonly signal: AbortSignal
}

/** What a call holds until its use is in the ledger. */
export interface BudgetClaim {
  /** Most output tokens. */
  readonly output: number
  /** The call is over: what it used takes the place of the reservation. */
  settle(spent: { readonly tokens: number; readonly cost: Money }): void
  /** What it used is in the ledger. */
  logged(): void
  /** Another process goes on with its run: what was reserved is held until that has counted it. */
  leave(): void
}

/** Why a call cannot be made before a budget's period ends. */
export class BudgetUsedUp extends RunEnding {
  readonly path: string
  readonly resets_at: number

  constructor(path: string, resets_at: number, message: string) {
    super(wireError("limit_exceeded", [{ path, message }]))
    this.path = path
    this.resets_at = resets_at
  }
}

/** A place for a run that begins, where its number is limited. */
export interface RunClaim {
  /** The run is stored, and with it its entry. */
  stored(): void
  release(): void
}

export type BudgetAdmission = { readonly claim: RunClaim } | { readonly refused: WireError }

export interface ShownBudget {
  readonly path: string
  /** Where one budget holds for several callers. */
  readonly caller?: string
  readonly limit: number
  readonly used: number
  readonly reserved: number
  readonly resets_at: string
}

/** What this process holds of an account. */
interface Held {
  readonly account: Account
  /** Of all that is claimed. */
  amount: number
  taken: number
  /** Claims of calls that are under way. */
  open: number
  /** By the store's time. */
  until: number
  used: number
  others: number
  askedAt: number
}

interface Claimed {
  readonly held: Held
  amount: number
}

/** Keeps calls and runs within budgets, together with all processes that share the store. */
export class Budgets {
  readonly #parts: BudgetsParts
  readonly #held = new Map<string, Held>()
  /** Requests to the store are made one after the other: what a process holds is set, not added to. */
  #turn: Promise<unknown> = Promise.resolve()
  readonly #queue = new CallQueue()
  #change = Promise.withResolvers<void>()
  #fileChange = Promise.withResolvers<void>()
  readonly #stop = new AbortController()
  #renewing = false
  #idle = false

  constructor(parts: BudgetsParts) {
    this.#parts = parts
  }

  /** Whether the cost of a run counts against a budget. */
  limitsCost(caller: string, workflow: string | null): AppliedBudget | null {
    const budgets = this.#parts.list().of(caller, workflow)
    return budgets.find(({ measure }) => measure === "cost") ?? null
  }

  /** Whether calls of a run have to be reserved. */
  limitsCalls(caller: string, workflow: string | null): boolean {
    return this.#parts
      .list()
      .of(caller, workflow)
      .some(({ measure }) => measure !== "runs")
  }

  /** Resolves when the operator changes the budgets. */
  get fileChange(): Promise<void> {
    return this.#fileChange.promise
  }

  /** The operator has changed budgets: all that wait for them look again. */
  async changed(paths: readonly string[]): Promise<void> {
    this.#fileChange.resolve()
    this.#fileChange = Promise.withResolvers<void>()
    this.#wake()
    await this.#wakeParked(paths)
  }

  /** Whether a run may begin; null where no budget says anything about it. */
  admit(caller: string, workflow: string | null): Promise<BudgetAdmission> | null {
    const budgets = this.#parts.list().of(caller, workflow)
    return budgets.length === 0 ? null : this.#admit(budgets)
  }

  async #admit(budgets: readonly AppliedBudget[]): Promise<BudgetAdmission> {
    const now = this.#parts.clock.now()
    const all = budgets.map((budget) => ({ budget, held: this.#heldOf(budget, now) }))
    const need = ({ account }: Held): number => (account.measure === "runs" ? 1 : 0)
    const unsure = all.filter(({ held }) => this.#isUnsure(held) || this.#room(held) < need(held))
    const judge = (): BudgetAdmission => {
      const full = all.filter(({ held }) => {
        const { account, used, others, taken } = held
        return used + others + taken >= account.limit || this.#room(held) < need(held)
      })
      if (full.length > 0) return { refused: refusal(full, now) }
      const counted = all.flatMap(({ held }) => (need(held) > 0 ? [{ held, amount: 1 }] : []))
      const claims = this.#claim(counted, false)
      return {
        claim: { stored: () => this.#release(claims, true), release: () => this.#release(claims, false) },
      }
    }
    if (unsure.length === 0) return judge()
    return this.#ask(
      unsure.map(({ held }) => held),
      need,
      judge,
    )
  }

  /** Waits until all budgets have room for the call, behind those that came before it. Rejects with `BudgetUsedUp` where none comes. */
  async reserve(call: BudgetCall): Promise<BudgetClaim> {
    const began = this.#parts.clock.monotonic()
    call.signal.throwIfAborted()
    const all = this.#standing(call)
    const keys = all.map(({ budget }) => budget.key)
    const helds = all.map(({ held }) => held)
    if (this.#queue.isFree(keys) && helds.every((held) => this.#room(held) >= needOf(held, call, call.output)))
      return this.#claimFor(helds, call, call.output)
    return this.#queue.inTurn(keys, call.signal, () => this.#reserve(call, began))
  }

  /** The budgets that a call counts in. */
  #standing({ caller, workflow }: BudgetCall): Standing[] {
    const now = this.#parts.clock.now()
    const budgets = this.#parts.list().of(caller, workflow)
    return budgets.flatMap((budget) => (budget.measure === "runs" ? [] : [{ budget, held: this.#heldOf(budget, now) }]))
  }

  async #reserve(call: BudgetCall, began: number): Promise<BudgetClaim> {
    const { clock } = this.#parts
    const { signal } = call
    for (;;) {
      signal.throwIfAborted()
      const all = this.#standing(call)
      const helds = all.map(({ held }) => held)
      const short = (): Held[] => helds.filter((held) => this.#room(held) < needOf(held, call, call.output))
      const whole = (): BudgetClaim | null => (short().length === 0 ? this.#claimFor(helds, call, call.output) : null)
      const at = short().length === 0 ? whole() : await this.#tryAsk(short(), call, began, call.output, whole)
      if (at === "again") continue
      if (at !== null) return at
      const change = this.#change.promise
      const tight = short()
      const mayGrow = tight.some(({ open, others }) => open > 0 || others > 0)
      if (!mayGrow || clock.monotonic() - began >= waitMs) {
        // The rest may be enough for a part of the output.
        const part = (): BudgetClaim | null => {
          const rooms = helds.map((held) => outputIn(held, call, this.#room(held)))
          const output = Math.floor(Math.min(call.output, ...rooms))
          return output >= leastOf(call) ? this.#claimFor(helds, call, output) : null
        }
        const cut = await this.#tryAsk(tight, call, began, leastOf(call), part)
        if (cut === "again") continue
        if (cut !== null) return cut
        const [worst] = all.filter(
          ({ held }) => tight.includes(held) && outputIn(held, call, this.#room(held)) < leastOf(call),
        )
        if (worst !== undefined) throw usedUp(worst, call)
      }
      await this.#pause(change, signal)
    }
  }

  /** `again`: the store failed, and is to be asked again. */
  async #tryAsk(
    helds: readonly Held[],
    call: BudgetCall,
    began: number,
    least: number,
    claim: () => BudgetClaim | null,
  ): Promise<BudgetClaim | null | "again"> {
    const { clock } = this.#parts
    const needs = (output: number) => (held: Held) => needOf(held, call, output)
    // Whoever has stopped meanwhile claims nothing.
    const then = (): BudgetClaim | null => (call.signal.aborted ? null : claim())
    try {
      return await this.#ask(helds, needs(call.output), then, needs(least))
    } catch (error) {
      if (!isStoreTrouble(error) || clock.monotonic() - began > patienceMs) throw error
      await clock.sleep(askAgainMs, call.signal)
      return "again"
    }
  }

  async #pause(change: Promise<void>, signal: AbortSignal): Promise<void> {
    const done = new AbortController()
    const slept = this.#parts.clock.sleep(askAgainMs, AbortSignal.any([signal, done.signal])).catch(() => undefined)
    await Promise.race([change, slept])
    done.abort()
  }

  #claimFor(helds: readonly Held[], call: BudgetCall, output: number): BudgetClaim {
    const claims = this.#claim(
      helds.map((held) => ({ held, amount: needOf(held, call, output) })),
      true,
    )
    let isOpen = true
    let isOver = false
    const settle: BudgetClaim["settle"] = ({ tokens, cost }) => {
      if (!isOpen) return
      isOpen = false
      for (const claim of claims) {
        const { held } = claim
        const spent = held.account.measure === "tokens" ? tokens : inNano(cost)
        held.taken += spent - claim.amount
        held.open--
        claim.amount = spent
      }
      this.#wake()
    }
    const end = (isStored: boolean): void => {
      if (isOver) return
      isOver = true
      if (isOpen) for (const { held } of claims) held.open--
      isOpen = false
      this.#release(claims, isStored)
    }
    const leave = (): void => {
      const { clock } = this.#parts
      clock.sleep(holdMs, this.#stop.signal).then(
        () => end(false),
        () => undefined,
      )
    }
    return { output, settle, logged: () => end(true), leave }
  }

  #claim(claims: Claimed[], isCall: boolean): Claimed[] {
    for (const { held, amount } of claims) {
      held.taken += amount
      if (isCall) held.open++
    }
    return claims
  }

  /** `isStored`: the sums of the store have it by now. */
  #release(claims: readonly Claimed[], isStored: boolean): void {
    for (const claim of claims) {
      const { held, amount } = claim
      claim.amount = 0
      held.taken -= amount
      if (!isStored) continue
      held.amount = Math.max(0, held.amount - amount)
      held.used += amount
    }
    this.#wake()
    this.#giveBackWhenIdle()
  }

  #wake(): void {
    this.#change.resolve()
    this.#change = Promise.withResolvers<void>()
  }

  #heldOf(budget: AppliedBudget, now: number): Held {
    const { from, to } = periodAt(budget.period, now)
    const name = `${budget.key} ${from}`
    const limit = limitInLedger(budget)
    const before = this.#held.get(name)
    if (before?.account.limit === limit) return before
    const account = { key: budget.key, scope: budget.scope, measure: budget.measure, from, to, limit }
    const fresh = { amount: 0, taken: 0, open: 0, until: 0, used: 0, others: 0, askedAt: Number.NEGATIVE_INFINITY }
    // Claims refer to it, and its limit has changed.
    const held: Held =
      before === undefined ? { account, ...fresh } : Object.assign(before, { account, askedAt: fresh.askedAt })
    this.#held.set(name, held)
    return held
  }

  /** What calls may still claim of a slice. */
  #room({ amount, taken, until }: Held): number {
    return this.#parts.clock.now() < until ? amount - taken : -taken
  }

  #isUnsure({ account: { limit }, used, others, taken, askedAt }: Held): boolean {
    return used + others + taken > limit * 0.9 || this.#parts.clock.monotonic() - askedAt > staleMs
  }

  /**
   * Asks the store for room for these needs, and for a slice beyond. Where there is no room for the least of it, all that is free of the slice is given back: so what
   * is asked for has to be claimed in the same turn, by `then`.
   */
  #ask<T>(helds: readonly Held[], need: (held: Held) => number, then: () => T, least = need): Promise<T> {
    return this.#inTurn(async () => {
      await this.#hold(helds, (held) => {
        const { amount, taken, account } = held
        const needed = need(held)
        // The turn before may have made room.
        if (needed === 0 || this.#room(held) >= needed) return same(held)
        const want = taken + needed + Math.ceil(account.limit * slicePart)
        return { keep: taken, least: taken + least(held), want: Math.max(amount, want) }
      })
      const claimed = then()
      // Nobody may have claimed what was granted.
      this.#giveBackWhenIdle()
      return claimed
    })
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#turn.then(work)
    this.#turn = done.catch(() => undefined)
    return done
  }

  async #hold(helds: readonly Held[], sizes: (held: Held) => Sizes): Promise<void> {
    if (helds.length === 0) return
    const { store, clock, holder } = this.#parts
    const until = clock.now() + holdMs
    const askedAt = clock.monotonic()
    const requests = helds.map((held) => ({ ...held.account, ...sizes(held) }))
    // Others may take from now on whatever is not asked for.
    for (const [index, { keep }] of requests.entries()) {
      const held = helds[index]
      if (held !== undefined) held.amount = Math.min(held.amount, keep)
    }
    const asked = helds.map(({ amount }) => amount)
    const slices = await store.ledger.hold(holder, requests, until)
    for (const [index, held] of helds.entries()) {
      const slice: Slice | undefined = slices[index]
      if (slice === undefined) continue
      // What was stored meanwhile is among what is used only from now on.
      const stored = (asked[index] ?? 0) - held.amount
      held.amount = Math.max(0, slice.amount - Math.max(0, stored))
      held.used = slice.used
      held.others = slice.others
      held.until = until
      held.askedAt = askedAt
    }
    if (!this.#stop.signal.aborted) this.#renew()
  }

  #renew(): void {
    if (this.#renewing) return
    this.#renewing = true
    void this.#keepHolding()
      .catch((error: unknown) => this.#parts.bug(error))
      .finally(() => (this.#renewing = false))
  }

  async #keepHolding(): Promise<void> {
    const { clock } = this.#parts
    while (this.#held.size > 0) {
      try {
        await clock.sleep(renewMs, this.#stop.signal)
      } catch {
        return
      }
      this.#forgetOld()
      await this.#inTurn(() => this.#hold(this.#inUse(), same)).catch((error: unknown) => {
        if (!isStoreTrouble(error)) throw error
      })
    }
  }

  #inUse(): Held[] {
    return [...this.#held.values()].filter(({ amount, taken }) => amount > 0 || taken > 0)
  }

  #forgetOld(): void {
    const { clock } = this.#parts
    for (const [name, { amount, taken, askedAt }] of this.#held) {
      if (amount <= 0 && taken <= 0 && clock.monotonic() - askedAt > holdMs) this.#held.delete(name)
    }
  }

  /** Gives slices back that nothing claims. */
  #giveBackWhenIdle(): void {
    if (this.#idle) return
    this.#idle = true
    this.#parts.clock
      .sleep(idleMs, this.#stop.signal)
      .then(
        () => this.#giveBack(),
        () => undefined,
      )
      .catch((error: unknown) => {
        if (!isStoreTrouble(error)) this.#parts.bug(error)
      })
      .finally(() => (this.#idle = false))
  }

  #giveBack(): Promise<void> {
    return this.#inTurn(() => {
      const free = [...this.#held.values()].filter(({ amount, taken }) => taken <= 0 && amount > 0)
      return this.#hold(free, () => ({ keep: 0, least: 0, want: 0 }))
    })
  }

  /** Budgets as they stand. */
  async shown(budgets: readonly AppliedBudget[], names: "with callers" | "of one"): Promise<ShownBudget[]> {
    const now = this.#parts.clock.now()
    const all = budgets.map((budget) => ({ budget, held: this.#heldOf(budget, now) }))
    await this.#ask(
      all.map(({ held }) => held),
      () => 0,
      () => undefined,
    )
    return all.map(({ budget: { path, limit, measure, scope }, held: { account, used, others, taken } }) => ({
      path,
      ...(names === "with callers" &&
        "caller" in scope &&
        scope.caller !== "" &&
        path.startsWith("callers.*.") && { caller: scope.caller }),
      limit,
      used: shownAmount(measure, used),
      reserved: shownAmount(measure, others + Math.max(0, taken)),
      resets_at: isoTime(account.to * hourMs),
    }))
  }

  /** The part of each budget that is used. */
  async ratios(callers: readonly string[]): Promise<{ readonly path: string; readonly ratio: number }[]> {
    const shown = await this.ofAll(callers)
    // A limit of 0 is used up from the start.
    return shown.map(({ path, limit, used }) => ({ path, ratio: limit === 0 ? 1 : used / limit }))
  }

  /** Budgets of a caller. */
  ofCaller(caller: string): Promise<ShownBudget[]> {
    return this.shown(this.#parts.list().ofCaller(caller), "of one")
  }

  /** All budgets. */
  ofAll(callers: readonly string[]): Promise<ShownBudget[]> {
    return this.shown(this.#parts.list().all(callers), "with callers")
  }

  /** Wakes runs that are parked for one of these budgets. */
  async #wakeParked(paths: readonly string[]): Promise<void> {
    const { waits } = this.#parts.store
    for (const key of paths) {
      let after: string | null = null
      do {
        const page: WaitPage<"budget"> = await waits.list({
          kind: "budget",
          status: "open",
          any: [{ key }],
          limit: 100,
          after,
        })
        for (const { wait } of page.found) await waits.settle(wait.run_id, "budget", wait.id, null)
        after = page.next
      } while (after !== null)
    }
  }

  /** What no call of this process has claimed is free for others; the rest is so when other processes have had the time to count it. */
  async close(): Promise<void> {
    this.#stop.abort(new Error("The service stops"))
    const claimed = ({ taken }: Held): Sizes => ({ keep: taken, least: taken, want: taken })
    try {
      await this.#inTurn(() => this.#hold(this.#inUse(), claimed))
    } catch (error) {
      if (!isStoreTrouble(error)) throw error
    }
  }
}

type Sizes = Pick<SliceRequest, "keep" | "least" | "want">

function same({ amount, taken }: Held): Sizes {
  const keep = Math.max(amount, taken)
  return { keep, least: keep, want: keep }
}

/** The fewest output tokens that a call is worth making for. */
function leastOf({ least = 1, output }: BudgetCall): number {
  return Math.min(least, output)
}

function inNano(cost: Money): number {
  return Number((cost + 999_999_999n) / 1_000_000_000n)
}

function needOf({ account }: Held, { input, price, hosted }: BudgetCall, output: number): number {
  if (account.measure === "tokens") return input + output
  return price === null ? 0 : inNano(worstCost(input, output, price, hosted))
}

/** Most output tokens that there is room for. */
function outputIn({ account }: Held, { input, price, hosted }: BudgetCall, room: number): number {
  if (account.measure === "tokens") return room - input
  if (price === null) return Number.POSITIVE_INFINITY
  return outputFor(BigInt(Math.floor(room)) * 1_000_000_000n, input, price, hosted)
}

interface Standing {
  readonly budget: AppliedBudget
  readonly held: Held
}

function refusal(full: readonly Standing[], now: number): WireError {
  const issues = full.map(({ budget: { path, limit, measure }, held: { account, used, others, taken } }) => {
    const all = shownAmount(measure, used + others + Math.max(0, taken))
    return {
      path,
      message: `${all} of the budget of ${limit} (${path}) are used or reserved: it begins anew at ${isoTime(account.to * hourMs)}`,
      limit,
      used: shownAmount(measure, used),
      retry_after: Math.max(1, Math.ceil((account.to * hourMs - now) / 1000)),
    }
  })
  const [first, ...rest] = issues
  if (first === undefined) throw new Error("A run was refused that fits")
  return wireError("budget_exceeded", [first, ...rest])
}

function usedUp({ budget: { path, limit, measure }, held }: Standing, call: BudgetCall): BudgetUsedUp {
  const { account, used, others, taken } = held
  const needed = shownAmount(measure, needOf(held, call, leastOf(call)))
  const left = shownAmount(measure, Math.max(0, account.limit - used - others - taken))
  const resets = account.to * hourMs
  const message = `The next model call needs ${needed} ${measure === "tokens" ? "tokens" : "at least"}, and ${left} are left of the budget of ${limit} (${path}), which begins anew at ${isoTime(resets)}`
  return new BudgetUsedUp(path, resets, message)
}
