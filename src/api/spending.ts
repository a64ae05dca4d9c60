import { spendingDays, spendingKeys, type SpendingKey } from "../ports/ledger.ts"
import {
  array,
  closed,
  integer,
  named,
  nullable,
  number,
  object,
  oneOf,
  optional,
  string,
  time,
  withRefusal,
  type Shape,
} from "../base/typed-schema.ts"
import { json, route } from "./route.ts"
import { notATime } from "./run-filters.ts"

const budget = named(
  "Budget",
  object({
    path: string({ description: "Its place in `WIRE_BUDGETS`: `callers.ann.cost_per_day`." }),
    caller: optional(string({ description: "For operators: whose part of `callers.*` it is." })),
    limit: number(),
    used: number({ description: "What calls have used, and how many runs have begun, in the period." }),
    reserved: number({ description: "What calls under way may use, and what other processes hold for theirs." }),
    resets_at: time,
  }),
)

export type BudgetsAnswer = Shape<typeof budgets>

const budgets = named("Budgets", object({ budgets: array(budget) }))

const whose =
  "For a caller their own; for an operator all. Without keys only on loopback, where all callers are one, and for all."

export const listBudgets = route({
  id: "listBudgets",
  method: "GET",
  path: "/budgets",
  group: "Budgets",
  operators: true,
  summary: "Budgets, and what is used of them",
  description: `Those of \`WIRE_BUDGETS\` that apply now. ${whose}`,
  answers: { 200: json("In the order of the file.", budgets) },
  errors: ["not_found", "overloaded"],
})

const spent = named(
  "Spent",
  object({
    day: optional(string({ description: "With `by=day`: `2026-11-19`, in UTC." })),
    workflow: optional(nullable(string(), { description: "With `by=workflow`; null for source that was sent." })),
    caller: optional(nullable(string(), { description: "With `by=caller`; null without keys." })),
    model: optional(string({ description: "With `by=model`: the backend's id." })),
    runs: integer({ description: "Runs that began; with `by=model` those that used it first." }),
    tokens: integer(),
    cost: number(),
  }),
)

export type SpendingAnswer = Shape<typeof spending>

const spending = named("Spending", object({ by: oneOf(spendingKeys), from: time, to: time, spending: array(spent) }))

export interface SpendingRequest {
  readonly by?: SpendingKey
  readonly from?: string
  readonly to?: string
}

export const listSpending = route({
  id: "listSpending",
  method: "GET",
  path: "/spending",
  group: "Budgets",
  operators: true,
  summary: "What runs have used",
  description: `Runs that began, and tokens and cost of their calls, those of deleted runs included. It is kept ${spendingDays} days. ${whose}`,
  query: closed({
    by: optional(oneOf(spendingKeys, { description: "What each row sums up; `day` unless given." })),
    from: optional(
      withRefusal(
        notATime,
        string({
          maxLength: 64,
          description: "A day, or a time in RFC 3339, whose whole hour counts. 30 days before `to` unless given.",
        }),
      ),
    ),
    to: optional(
      withRefusal(
        notATime,
        string({
          maxLength: 64,
          description: "A day, which counts whole, or a time, whose whole hour counts. Now unless given.",
        }),
      ),
    ),
  }),
  answers: { 200: json("In order.", spending) },
  errors: ["not_found", "invalid_request", "overloaded"],
})
