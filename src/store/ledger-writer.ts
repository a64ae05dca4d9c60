import {
  hourMs,
  sliceOf,
  spendingDays,
  type LedgerRow,
  type LedgerScope,
  type Measure,
  type Slice,
} from "../ports/ledger.ts"
import type { HoldOperation } from "./operations.ts"
import { get, run, type Steps } from "./sql.ts"

// What runs have used, and what processes hold of budgets: what is written of it.

interface Owner {
  readonly caller: string
  /** Null for source that a caller sent. */
  readonly workflow: string | null
}

/** Sets entries of a run; the sums change by as much. */
export function* setEntries(num: number, rows: readonly LedgerRow[], owner?: Owner): Steps<void> {
  const { caller, workflow } = owner ?? (yield* ownerOf(num))
  for (const { hour, model, runs, tokens, cost } of rows) {
    const before =
      owner === undefined
        ? yield* get("SELECT runs, tokens, cost FROM ledger WHERE run = ? AND hour = ? AND model = ?", num, hour, model)
        : undefined
    yield* run(
      `INSERT INTO ledger (run, hour, model, runs, tokens, cost) VALUES (?, ?, ?, ?, ?, ?)
       ON CONFLICT (run, hour, model) DO UPDATE SET runs = excluded.runs, tokens = excluded.tokens, cost = excluded.cost`,
      num,
      hour,
      model,
      runs,
      tokens,
      cost,
    )
    const [runsBefore = 0, tokensBefore = 0, costBefore = 0] = [
      before?.["runs"],
      before?.["tokens"],
      before?.["cost"],
    ] as (number | undefined)[]
    yield* run(
      `INSERT INTO spending (caller, hour, workflow, model, until, runs, tokens, cost) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (caller, hour, workflow, model) DO UPDATE SET runs = spending.runs + excluded.runs,
         tokens = spending.tokens + excluded.tokens, cost = spending.cost + excluded.cost`,
      caller,
      hour,
      workflow ?? "",
      model,
      (hour + spendingDays * 24) * hourMs,
      runs - runsBefore,
      tokens - tokensBefore,
      cost - costBefore,
    )
  }
}

function* ownerOf(num: number): Steps<Owner> {
  return (yield* get("SELECT caller, workflow FROM runs WHERE num = ?", num)) as unknown as Owner
}

export function* hold({ holder, requests, now, until }: HoldOperation): Steps<Slice[]> {
  const slices: Slice[] = []
  for (const request of requests) {
    const { key, from, to, scope, measure } = request
    const used = yield* usedOf(scope, measure, from, to)
    const held = yield* get(
      "SELECT CAST(coalesce(sum(amount), 0) AS TEXT) AS amount FROM slices WHERE account = ? AND start = ? AND holder <> ? AND until > ?",
      key,
      from,
      holder,
      now,
    )
    const slice = sliceOf(request, used, Number(held?.["amount"]))
    slices.push(slice)
    if (slice.amount <= 0) {
      yield* run("DELETE FROM slices WHERE account = ? AND start = ? AND holder = ?", key, from, holder)
      continue
    }
    yield* run(
      `INSERT INTO slices (account, start, holder, amount, until) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (account, start, holder) DO UPDATE SET amount = excluded.amount, until = excluded.until`,
      key,
      from,
      holder,
      slice.amount,
      until,
    )
  }
  return slices
}

function* usedOf(scope: LedgerScope, measure: Measure, from: number, to: number): Steps<number> {
  const [column, name] =
    "caller" in scope ? (["caller", scope.caller] as const) : (["workflow", scope.workflow] as const)
  // Rows of models say how many runs used them.
  const counted = measure === "runs" ? "CASE WHEN model = '' THEN runs ELSE 0 END" : measure
  const sum = yield* get(
    `SELECT CAST(coalesce(sum(${counted}), 0) AS TEXT) AS used FROM spending WHERE ${column} = ? AND hour >= ? AND hour < ?`,
    name,
    from,
    to,
  )
  return Number(sum?.["used"])
}
