import { DatabaseSync } from "node:sqlite"
import { openSqliteStore } from "../src/adapters/sqlite/open-sqlite-store.ts"
import { systemClock } from "../src/adapters/system/system-clock.ts"
import type { MasterKey } from "../src/ports/vault.ts"
import type { RunStore } from "../src/ports/store.ts"

/** Ended runs of ten callers, of which one in ten had failed and one in ten had asked somebody and notified. Both databases take it. */
export function endedRuns(count: number): readonly string[] {
  const numbers = `WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${count})`
  const at = "1700000000000 + n"
  return [
    `INSERT INTO runs (run_id, caller, created_at, finished_at, resumable, fence, lease_until, key, outcome, workflow, version, usage, bytes)
     ${numbers} SELECT 'run' || n, 'caller ' || n % 10, ${at}, ${at}, 1, 2, 0, 'k', CASE WHEN n % 10 = 0 THEN 'failed' ELSE 'completed' END,
       CASE WHEN n % 4 < 2 THEN 'flow' END, '1', '{}', 400 FROM numbers`,
    `INSERT INTO events (run, last, body) SELECT num, 2, 'sealed events of about as many bytes as a short run has when it has ended' FROM runs`,
    `INSERT INTO waits (run, id, kind, caller, opened_at, due_at, status, taken, body) SELECT num, 'q', 'question', caller, 1, 1, 1, 1, 'sealed' FROM runs WHERE num % 10 = 1`,
    `INSERT INTO outbox (run_id, event_id, caller, event, caused_at, status, attempts, due_at, url, receiver)
     SELECT run_id, 2, caller, 'completed', 1, 'delivered', 1, 1, 'sealed', 'r' FROM runs WHERE num % 10 = 2`,
    "INSERT INTO stored (caller, bytes) SELECT caller, sum(bytes) FROM runs GROUP BY caller",
  ]
}

/** A new database with so many ended runs. */
export async function sqliteWithRuns(path: string, masterKey: MasterKey, count: number): Promise<RunStore> {
  await (await openSqliteStore({ path, masterKey, clock: systemClock })).close()
  const database = new DatabaseSync(path)
  database.exec("PRAGMA synchronous = OFF; PRAGMA cache_size = -200000; BEGIN")
  for (const sql of endedRuns(count)) database.exec(sql.replaceAll(/'(k|sealed[^']*)'/g, "CAST('$1' AS BLOB)"))
  database.exec("COMMIT; PRAGMA wal_checkpoint(TRUNCATE)")
  database.close()
  return openSqliteStore({ path, masterKey, clock: systemClock })
}
