import type { DatabaseSync, SQLInputValue } from "node:sqlite"
import type { Usage } from "../../log/events.ts"
import { noUsage, showUsage } from "../../log/usage.ts"
import { openStatus, type ListedRun, type RunQuery } from "../../ports/run-list.ts"
import type { RunStatus } from "../../ports/store.ts"
import { PreparedStatements } from "./prepared-statements.ts"
import { failureOf } from "./sqlite-error.ts"

const columns = `run_id, created_at, finished_at, cancel_requested, waiting, workflow, version, outcome, usage,
  EXISTS (SELECT 1 FROM events WHERE run = num) AS begun`

/** Reads the list of runs from the columns that appends keep up to date. */
export class RunListReader {
  readonly #path: string
  readonly #statements: PreparedStatements

  constructor(database: DatabaseSync, path: string) {
    this.#statements = new PreparedStatements(database)
    this.#path = path
  }

  list({ caller, workflow, status, limit, after }: RunQuery): ListedRun[] {
    const conditions = ["caller = ?"]
    const values: SQLInputValue[] = [caller]
    if (workflow !== null) {
      conditions.push("workflow = ?")
      values.push(workflow)
    }
    let source = "runs"
    if (status === "ended") conditions.push("finished_at IS NOT NULL")
    else if (status !== null) {
      conditions.push("finished_at IS NULL", `waiting = ${status === "waiting" ? 1 : 0}`)
      source = `runs INDEXED BY ${status === "waiting" ? "runs_waiting" : "runs_claimable"}`
    }
    if (after !== null) {
      conditions.push("(created_at, run_id) < (?, ?)")
      values.push(after.created_at, after.run_id)
    }
    const sql = `SELECT ${columns} FROM ${source} WHERE ${conditions.join(" AND ")}
      ORDER BY created_at DESC, run_id DESC LIMIT ?`
    return this.#all(sql, ...values, limit).map(listed)
  }

  #all(sql: string, ...values: SQLInputValue[]): Record<string, unknown>[] {
    try {
      return this.#statements.get(sql).all(...values)
    } catch (error) {
      throw failureOf(this.#path, error)
    }
  }
}

function listed(row: Record<string, unknown>): ListedRun {
  const written = row["usage"] as string | null
  const outcome = row["outcome"] as RunStatus | null
  const state = openStatus({
    cancel_requested: row["cancel_requested"] === 1,
    waiting: row["waiting"] === 1,
    begun: row["begun"] === 1,
  })
  const name = row["workflow"] as string | null
  return {
    run_id: row["run_id"] as string,
    workflow: name === null ? null : { name, version: row["version"] as string },
    status: outcome ?? state,
    created_at: row["created_at"] as number,
    finished_at: row["finished_at"] as number | null,
    usage: written === null ? noUsage : showUsage(JSON.parse(written) as Usage),
  }
}
