import type { MasterKey } from "../../ports/vault.ts"
import { checkTables, type StoreReport } from "../../store/check-tables.ts"
import { runStepsLater } from "../../store/sql.ts"
import { Connection, startMs, type ServerTarget } from "./connection.ts"
import { countProcesses } from "./lease-rules.ts"
import { addressOf, processLocks } from "./names.ts"
import { failureOf } from "./postgres-error.ts"
import { formatOf, inspectServer, refuseOtherFormats, unlock } from "./schema.ts"

/** Counting a large table takes long. */
const patienceMs = 600_000

/** Looks at everything and changes nothing, whether or not a service has the tables open. Rejects with a `StoreFailure`. */
export async function checkPostgresStore(target: ServerTarget, masterKey: MasterKey): Promise<StoreReport> {
  const where = addressOf(target)
  let connection: Connection | null = null
  try {
    const opened = (connection = await Connection.open(target, "check", { patienceMs, withinMs: startMs }))
    const warnings = await inspectServer(where, opened)
    const format = await formatOf(opened, target.schema)
    refuseOtherFormats(where, target.schema, format)
    const vault = await unlock(where, opened, masterKey)
    const report = await runStepsLater(checkTables(vault, true), (statement) => opened.execute(statement))
    const { rows } = await opened.query<{ readonly bytes: number }>(
      "SELECT coalesce(sum(pg_total_relation_size(oid)), 0) AS bytes FROM pg_class WHERE relkind = 'r' AND relnamespace = $1::regnamespace",
      [`"${target.schema}"`],
    )
    const open_by = await runStepsLater(countProcesses(processLocks(target.schema)), (one) => opened.execute(one))
    const problems = [...warnings, ...report.problems]
    return { ...report, path: where, bytes: rows[0]?.bytes ?? 0, open_by, format, problems }
  } catch (error) {
    throw failureOf(where, error)
  } finally {
    await connection?.close()
  }
}
