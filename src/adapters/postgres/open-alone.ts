import { StoreFailure } from "../../ports/store.ts"
import { runStepsLater } from "../../store/sql.ts"
import { Connection, startMs, type ServerTarget } from "./connection.ts"
import { countProcesses } from "./lease-rules.ts"
import { addressOf, processLocks, writeLock } from "./names.ts"
import { failureOf } from "./postgres-error.ts"
import { inspectServer } from "./schema.ts"

/** A page of large rows may take long. */
const patienceMs = 600_000

/**
 * Connects to a store that no service has open. Until the connection is closed, no service can write to it. Where `use` fails, the connection is closed. Rejects with a
 * `StoreFailure`.
 */
export async function openAlone<T>(
  target: ServerTarget,
  purpose: string,
  use: (connection: Connection, where: string) => Promise<T>,
): Promise<T> {
  const where = addressOf(target)
  let connection: Connection | null = null
  try {
    const opened = (connection = await Connection.open(target, purpose, { patienceMs, withinMs: startMs }))
    await inspectServer(where, opened)
    const [first, second] = writeLock(target.schema)
    const locked = await opened.query<{ readonly got: number }>("SELECT pg_try_advisory_lock($1, $2) AS got", [
      first,
      second,
    ])
    const inUse = await runStepsLater(countProcesses(processLocks(target.schema)), (one) => opened.execute(one))
    if (locked.rows[0]?.got !== 1 || inUse > 0) {
      throw new StoreFailure(`The store at ${where} is in use: stop the service first`)
    }
    return await use(opened, where)
  } catch (error) {
    await connection?.close()
    throw failureOf(where, error)
  }
}
