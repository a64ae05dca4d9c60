import type { LedgerStore, Slice, SliceRequest, Spending, SpendingKey, SpendingQuery } from "../ports/ledger.ts"
import type { Clock } from "../ports/clock.ts"
import type { SqlMedium } from "./sql-medium.ts"
import { all, type SqlValue, type Steps } from "./sql.ts"

/** What runs have used, as rows. */
export class SqlLedger implements LedgerStore {
  readonly #medium: SqlMedium
  readonly #clock: Clock

  constructor(medium: SqlMedium, clock: Clock) {
    this.#medium = medium
    this.#clock = clock
  }

  hold(holder: string, requests: readonly SliceRequest[], until: number): Promise<readonly Slice[]> {
    return this.#medium.send({ kind: "hold slices", holder, requests, now: this.#clock.now(), until, blobs: [] })
  }

  async spending(query: SpendingQuery): Promise<readonly Spending[]> {
    return this.#medium.read(readSpending(query))
  }
}

const names: Readonly<Record<SpendingKey, string>> = {
  day: "hour / 24",
  workflow: "workflow",
  caller: "caller",
  model: "model",
}

function* readSpending({ by, caller, from, to }: SpendingQuery): Steps<Spending[]> {
  const conditions = ["hour >= ?", "hour < ?"]
  const values: SqlValue[] = [from, to]
  if (caller !== null) {
    conditions.push("caller = ?")
    values.push(caller)
  }
  if (by === "model") conditions.push("model <> ''")
  const runs = by === "model" ? "runs" : "CASE WHEN model = '' THEN runs ELSE 0 END"
  const rows = yield* all(
    `SELECT CAST(${names[by]} AS TEXT) AS name, CAST(sum(${runs}) AS TEXT) AS runs, CAST(sum(tokens) AS TEXT) AS tokens,
       CAST(sum(cost) AS TEXT) AS cost
     FROM spending WHERE ${conditions.join(" AND ")} GROUP BY ${names[by]} ORDER BY ${names[by]}`,
    ...values,
  )
  return rows.map((row) => {
    const [runs, tokens, cost] = [Number(row["runs"]), Number(row["tokens"]), Number(row["cost"])]
    return { name: row["name"] as string, runs, tokens, cost }
  })
}
