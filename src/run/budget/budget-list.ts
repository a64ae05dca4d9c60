import { isJsonObject } from "../../base/is-json-object.ts"
import type { JsonValue } from "../../base/json-value.ts"
import { hourMs, measures, nano, type LedgerScope, type Measure } from "../../ports/ledger.ts"

const periods = ["hour", "day", "month"] as const

type Period = (typeof periods)[number]

/** One budget of the file. */
export interface BudgetEntry {
  /** Its place in the file: `callers.ann.cost_per_day`. */
  readonly path: string
  readonly measure: Measure
  readonly period: Period
  /** As written. */
  readonly limit: number
}

/** A budget that applies to a caller or a workflow. */
export interface AppliedBudget extends BudgetEntry {
  /** The same for all entries that may govern the same use. */
  readonly key: string
  readonly scope: LedgerScope
}

/** The operator's budgets. */
export class BudgetList {
  readonly #callers: ReadonlyMap<string, readonly BudgetEntry[]>
  readonly #workflows: ReadonlyMap<string, readonly BudgetEntry[]>

  constructor(
    callers: ReadonlyMap<string, readonly BudgetEntry[]>,
    workflows: ReadonlyMap<string, readonly BudgetEntry[]>,
  ) {
    this.#callers = callers
    this.#workflows = workflows
  }

  ofCaller(caller: string): AppliedBudget[] {
    // Without keys all callers are one.
    const own = (caller === "" ? undefined : this.#callers.get(caller)) ?? this.#callers.get("*") ?? []
    return own.map((entry) => apply(entry, { caller }, `callers/${caller}`))
  }

  ofWorkflow(workflow: string): AppliedBudget[] {
    return (this.#workflows.get(workflow) ?? []).map((entry) => apply(entry, { workflow }, `workflows/${workflow}`))
  }

  /** All that a run has to fit in. */
  of(caller: string, workflow: string | null): AppliedBudget[] {
    return workflow === null ? this.ofCaller(caller) : [...this.ofCaller(caller), ...this.ofWorkflow(workflow)]
  }

  /** All budgets, those of `*` for each of these callers that has none of its own. */
  all(callers: readonly string[]): AppliedBudget[] {
    const named = [...this.#callers.keys()].filter((name) => name !== "*")
    const everyone = new Set([...named, ...callers])
    return [
      ...[...everyone].flatMap((caller) => this.ofCaller(caller)),
      ...[...this.#workflows.keys()].flatMap((workflow) => this.ofWorkflow(workflow)),
    ]
  }

  /** Paths of budgets that another list may allow more of. */
  changedIn(other: BudgetList): string[] {
    const [before, after] = [this.#limits(), other.#limits()]
    const changed = [...before].flatMap(([path, limit]) => (after.get(path) === limit ? [] : [path]))
    // A caller who gets an entry has left those of all others.
    const names = (list: BudgetList): string => [...list.#callers.keys()].toSorted().join("\n")
    const others =
      names(this) === names(other) ? [] : [...before.keys()].filter((path) => path.startsWith("callers.*."))
    return [...new Set([...changed, ...others])]
  }

  #limits(): Map<string, number> {
    const entries = [...this.#callers.values(), ...this.#workflows.values()].flat()
    return new Map(entries.map(({ path, limit }) => [path, limit]))
  }
}

function apply(entry: BudgetEntry, scope: LedgerScope, name: string): AppliedBudget {
  return { ...entry, scope, key: `${name}/${entry.measure}_per_${entry.period}` }
}

/** The limit in units of the ledger. */
export function limitInLedger({ measure, limit }: BudgetEntry): number {
  return measure === "cost" ? Math.round(limit * nano) : limit
}

/** An amount of the ledger as people write it. */
export function shownAmount(measure: Measure, amount: number): number {
  return measure === "cost" ? Math.round(amount / 1e3) / 1e6 : amount
}

/** The calendar period that a time is in, in hours since the epoch. */
export function periodAt(period: Period, at: number): { readonly from: number; readonly to: number } {
  const hour = Math.floor(at / hourMs)
  if (period === "hour") return { from: hour, to: hour + 1 }
  if (period === "day") {
    const from = Math.floor(hour / 24) * 24
    return { from, to: from + 24 }
  }
  const date = new Date(at)
  const month = (offset: number): number => Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + offset, 1) / hourMs
  return { from: month(0), to: month(1) }
}

const keys: ReadonlyMap<string, { readonly measure: Measure; readonly period: Period }> = new Map(
  measures.flatMap((measure) => periods.map((period) => [`${measure}_per_${period}`, { measure, period }] as const)),
)
const mostCost = Math.floor(Number.MAX_SAFE_INTEGER / nano)

/** The list that a parsed file has, or what is wrong with it: the end of a sentence that begins with the file's name. */
export function readBudgetList(value: JsonValue): BudgetList | string {
  if (!isJsonObject(value)) return 'must be an object such as { "callers": { "*": { "cost_per_day": 20 } } }'
  const extra = Object.keys(value).find((key) => key !== "callers" && key !== "workflows")
  if (extra !== undefined) return `has "${extra}", which is unknown: it may have "callers" and "workflows"`
  const callers = readEntries(value, "callers")
  if (typeof callers === "string") return callers
  const workflows = readEntries(value, "workflows")
  return typeof workflows === "string" ? workflows : new BudgetList(callers, workflows)
}

function readEntries(
  file: { readonly [key: string]: JsonValue },
  part: "callers" | "workflows",
): Map<string, readonly BudgetEntry[]> | string {
  const found = new Map<string, readonly BudgetEntry[]>()
  const given = Object.hasOwn(file, part) ? file[part] : {}
  if (!isJsonObject(given)) return `must have an object of budgets by name at "${part}"`
  for (const [name, budgets] of Object.entries(given)) {
    if (!isJsonObject(budgets)) return `must have an object such as { "cost_per_day": 20 } at "${part}.${name}"`
    const entries: BudgetEntry[] = []
    for (const [key, limit] of Object.entries(budgets)) {
      const path = `${part}.${name}.${key}`
      const known = keys.get(key)
      if (known === undefined) return `has a wrong budget at "${path}": known are ${[...keys.keys()].join(", ")}`
      const problem = problemOf(known.measure, limit)
      if (problem !== null) return `has a wrong budget at "${path}": it must be ${problem}`
      entries.push({ path, ...known, limit: limit as number })
    }
    found.set(name, entries)
  }
  return found
}

function problemOf(measure: Measure, limit: JsonValue): string | null {
  if (measure === "cost") {
    return typeof limit === "number" && limit >= 0 && limit <= mostCost ? null : `a number from 0 to ${mostCost}`
  }
  return Number.isSafeInteger(limit) && (limit as number) >= 0 ? null : "a whole number of 0 or more"
}
