import type { FastifyInstance, FastifyRequest } from "fastify"
import { isoTime } from "../../base/iso-time.ts"
import { parseTime } from "../../base/parse-time.ts"
import { notATime } from "../../api/run-filters.ts"
import { listBudgets, listSpending, type BudgetsAnswer, type SpendingAnswer } from "../../api/spending.ts"
import { hourMs, type Spending, type SpendingKey } from "../../ports/ledger.ts"
import { shownAmount } from "../../run/budget/budget-list.ts"
import { callerOf } from "../caller-of.ts"
import { refuse, refuseAt } from "../http-error.ts"
import type { RouteDependencies } from "../route-dependencies.ts"
import type { ServerOptions } from "../server-options.ts"
import { serve } from "../serve-route.ts"

const dayMs = 24 * hourMs
const usualDays = 30

/** What may be used, and what has been used: a caller's own, and for operators all. */
export function spendingRoutes(
  app: FastifyInstance,
  { budgets, store, clock }: RouteDependencies,
  { keys, loopback }: Pick<ServerOptions, "keys" | "loopback">,
): void {
  const names = [...new Set(keys.map(({ name }) => name))]
  const callers = names.length === 0 ? [""] : names
  /** Null: those of all. */
  const whose = (request: FastifyRequest, what: string): string | null => {
    if (request.isOperator) return null
    if (names.length > 0) return callerOf(request)
    // All callers are one, and whoever is at the machine is its operator.
    if (loopback) return null
    throw refuse("not_found", `There is no route GET ${what}`)
  }

  serve(app, listBudgets, async (request) => {
    const caller = whose(request, "/budgets")
    if (budgets === null) return { budgets: [] } satisfies BudgetsAnswer
    const shown = caller === null ? await budgets.ofAll(callers) : await budgets.ofCaller(caller)
    return { budgets: shown } satisfies BudgetsAnswer
  })

  serve(app, listSpending, async (request) => {
    const caller = whose(request, "/spending")
    const { by = "day", ...given } = request.query
    const to = given.to === undefined ? clock.now() : readTime(given.to, "to", dayMs)
    const from = given.from === undefined ? to - usualDays * dayMs : readTime(given.from, "from", 0)
    if (from > to) throw refuseAt("invalid_request", "from", "`from` must not be after `to`")
    const hours = { from: Math.floor(from / hourMs), to: Math.ceil(to / hourMs) }
    const found = await store.ledger.spending({ by, caller, ...hours })
    return {
      by,
      from: isoTime(hours.from * hourMs),
      to: isoTime(hours.to * hourMs),
      spending: found.map((one) => rowOf(by, one)),
    } satisfies SpendingAnswer
  })
}

function rowOf(by: SpendingKey, { name, runs, tokens, cost }: Spending): SpendingAnswer["spending"][number] {
  const used = { runs, tokens, cost: shownAmount("cost", cost) }
  if (by === "day") return { day: isoTime(Number(name) * dayMs).slice(0, 10), ...used }
  if (by === "model") return { model: name, ...used }
  return { [by]: name === "" ? null : name, ...used }
}

/** A day without a time begins `dayAddsMs` later. */
export function readTime(text: string, name: string, dayAddsMs: number): number {
  const isDay = /^\d{4}-\d\d-\d\d$/.test(text)
  // An unescaped `+` of a query arrives as a blank.
  const ms = parseTime(isDay ? `${text}T00:00:00Z` : text.replace(" ", "+"))
  if (ms === undefined) throw refuseAt("invalid_request", name, notATime)
  return isDay ? ms + dayAddsMs : ms
}
