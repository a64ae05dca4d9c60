import { signal } from "@preact/signals"
import { useEffect } from "preact/hooks"
import type { BudgetsAnswer, SpendingAnswer } from "../../src/client/client.ts"
import { asksForKey, client, toWireError } from "../service/service.ts"
import { costNumber, shortNumber, showMoment, showNumber } from "../ui/show.ts"
import { follow } from "./navigation.tsx"
import { PageChoice } from "./page-choice.tsx"
import { addressOf, goTo, place } from "./place.ts"

const everyMs = 10_000
const keys = ["workflow", "caller", "model", "day"] as const
type Key = (typeof keys)[number]
const labels: Readonly<Record<Key, string>> = { workflow: "Workflow", caller: "Caller", model: "Model", day: "Day" }
const spans = { "1": "Today", "7": "7 days", "30": "30 days" } as const

const budgets = signal<BudgetsAnswer["budgets"] | null>(null)
const spending = signal<SpendingAnswer | null>(null)
const trouble = signal<string | null>(null)

function chosen(): { readonly by: Key; readonly days: keyof typeof spans } {
  const { params } = place.value
  const days = params.get("days") ?? "7"
  return {
    by: keys.find((key) => key === params.get("by")) ?? "workflow",
    days: days === "1" || days === "30" ? days : "7",
  }
}

async function load(): Promise<void> {
  const { by, days } = chosen()
  const from = new Date(Date.now() - (Number(days) - 1) * 86_400_000).toISOString().slice(0, 10)
  try {
    const [limits, used] = await Promise.all([client().budgets(), client().spending({ by, from })])
    budgets.value = limits
    spending.value = used
    trouble.value = null
  } catch (error) {
    trouble.value = asksForKey(error, () => void load())
      ? "An API key is needed to see budgets."
      : toWireError(error).message
  }
}

/** What may be used, and what has been used of it and of everything else. */
export function BudgetsPage() {
  const { by, days } = chosen()
  useEffect(() => {
    void load()
    const timer = setInterval(() => {
      if (!document.hidden) void load()
    }, everyMs)
    return () => clearInterval(timer)
  }, [by, days])
  if (trouble.value !== null) {
    return (
      <div class="empty" role="alert">
        <p>{trouble.value}</p>
      </div>
    )
  }
  if (budgets.value === null || spending.value === null) return <p class="empty">Loading …</p>
  return (
    <section class="pane console-list" aria-label="Budgets">
      <div class="scrolls padded">
        <h2>Budgets</h2>
        {budgets.value.length === 0 ? <NoBudgets /> : <Limits budgets={budgets.value} />}
        <div class="spending-head">
          <h2>Spending</h2>
          <PageChoice
            label="Sum up by"
            value={by}
            options={keys.map((key) => [key, `By ${labels[key].toLowerCase()}`])}
            name="by"
          />
          <PageChoice label="Time" value={days} options={Object.entries(spans)} name="days" />
        </div>
        <Spending answer={spending.value} by={by} days={days} />
      </div>
    </section>
  )
}

function NoBudgets() {
  return (
    <p class="note">
      There are no budgets: nothing bounds what callers and workflows use. The file that <code>WIRE_BUDGETS</code> names
      sets them, such as <code>{'{ "callers": { "*": { "cost_per_day": 5 } } }'}</code>.
    </p>
  )
}

function Limits({ budgets: list }: { readonly budgets: BudgetsAnswer["budgets"] }) {
  return (
    <ul class="budget-list">
      {list.map(({ path, caller, limit, used, reserved, resets_at }) => {
        const share = limit === 0 ? 1 : (used + reserved) / limit
        const name = caller === undefined || caller === "" ? path : `${path} (${caller})`
        return (
          <li key={name} class={share >= 1 ? "is-failed" : share >= 0.8 ? "is-retried" : "is-completed"}>
            <div class="budget-line">
              <strong class="mono">{name}</strong>
              <span>
                {showAmount(used)} of {showAmount(limit)}
              </span>
            </div>
            <meter min={0} max={Math.max(limit, 1e-9)} value={Math.min(used + reserved, limit)} aria-label={name} />
            <div class="budget-line note">
              <span>
                {Math.round(share * 100)}% used{reserved > 0 ? `, ${showAmount(reserved)} of it reserved` : ""}
              </span>
              <span>begins anew {showMoment(Date.parse(resets_at))}</span>
            </div>
          </li>
        )
      })}
    </ul>
  )
}

const showAmount = (amount: number): string => amount.toLocaleString("en", { maximumFractionDigits: 4 })

function Spending({ answer, by, days }: { readonly answer: SpendingAnswer; readonly by: Key; readonly days: string }) {
  const rows = [...answer.spending]
  if (by !== "day") rows.sort((one, other) => other.cost - one.cost || other.tokens - one.tokens)
  else rows.reverse()
  const most = Math.max(0, ...rows.map(({ cost }) => cost))
  if (rows.length === 0)
    return <p class="note">No run has begun in this time. Runs count here as soon as they begin.</p>
  return (
    <div class="table-scrolls">
      <table class="run-table spending-table">
        <thead>
          <tr>
            <th scope="col">{labels[by]}</th>
            <th scope="col" class="number">
              Runs
            </th>
            <th scope="col" class="number">
              Tokens
            </th>
            <th scope="col" class="number">
              Cost
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => {
            const name =
              row[by] ?? (by === "workflow" ? "source that was sent" : by === "caller" ? "without a key" : "–")
            const isLinked = (by === "workflow" || by === "caller") && typeof row[by] === "string"
            const params = new URLSearchParams({ [by]: name, since: `${days}d` })
            return (
              <tr key={name}>
                <td class="run-cell">
                  {isLinked ? (
                    <a href={addressOf("runs", params)} onClick={(event) => follow(event, () => goTo("runs", params))}>
                      {name}
                    </a>
                  ) : (
                    <strong>{name}</strong>
                  )}
                </td>
                <td class="number">{showNumber(row.runs)}</td>
                <td class="number">{shortNumber(row.tokens)}</td>
                <td class="number">
                  <span class="cost-bar" aria-hidden="true">
                    <span style={{ width: `${most === 0 ? 0 : (row.cost / most) * 100}%` }} />
                  </span>
                  {costNumber(row.cost)}
                </td>
              </tr>
            )
          })}
        </tbody>
      </table>
    </div>
  )
}
