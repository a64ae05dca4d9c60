import { DatabaseSync } from "node:sqlite"
import { SqliteLeaseRules } from "../../src/adapters/sqlite/lease-rules.ts"
import { migrations } from "../../src/store/schema.ts"
import { runSteps } from "../../src/store/sql.ts"
import assert from "node:assert/strict"
import { after, before, describe, test } from "node:test"
import { byIndex } from "../../src/adapters/postgres/connection.ts"
import { translatedStatements } from "../../src/adapters/postgres/to-postgres.ts"
import type { RunStore } from "../../src/ports/store.ts"
import { runStoreContract } from "../contract/run-store.ts"
import { emptiedTables } from "../support/emptied-tables.ts"
import { ManualClock } from "../support/manual-clock.ts"
import { startPostgres, type PostgresServer } from "../support/postgres-server.ts"
import { postgresStores } from "../support/postgres-store.ts"

// The contract of every store, on a real server.

describe("PostgreSQL", () => {
  let server: PostgresServer
  before(async () => {
    // A machine that loses power is not what this is about.
    server = await startPostgres({ config: ["fsync=off"] })
  })
  after(() => server.close())

  /** Opening takes longer than most of the tests: they share stores, and each begins with empty tables. */
  const stores = (count: 1 | 2) => {
    const clock = new ManualClock()
    const schema = `shared_by_${count}`
    const opened: RunStore[] = []
    let open: ReturnType<typeof postgresStores> | null = null
    after(() => Promise.all(opened.map((store) => store.close())))
    return async () => {
      open ??= postgresStores(server.url(), clock, schema)
      for (let n = 0; n < count; n++) {
        const store = opened[n]
        if (store === undefined || !(await isOpen(store))) opened[n] = await open({ pollMs: 200 })
      }
      await server.query(emptiedTables.map((table) => `DELETE FROM ${schema}.${table}`).join(";"))
      const [store, other = store] = opened
      if (store === undefined || other === undefined) throw new Error("No store was opened")
      return { store, other, clock, close: async () => {} }
    }
  }

  // Two stores on one server share nothing but it, as two machines do.
  runStoreContract("postgres, seen by another process", stores(2))
  runStoreContract("postgres", stores(1))

  // The tests above have made every statement of the store.
  test("among many ended runs every statement finds its rows by an index", async () => {
    const plans = await explainAll(server, "shared_by_2")
    assert.ok(plans.size > 60, `${plans.size} statements`)
    const slow = [...plans].filter(([, plan]) => scans.test(plan))
    assert.deepEqual(
      slow.map(([sql, plan]) => `${sql}\n${plan}`),
      [],
    )
  })

  test("so does every one of them on SQLite", () => {
    const database = new DatabaseSync(":memory:")
    for (const step of migrations) database.exec(step)
    const claim = { kind: "claim", owner: "", limit: 1, now: 1, lease_until: 2, blobs: [] } as const
    const own: string[] = []
    runSteps(new SqliteLeaseRules("nowhere.db", "holder").lapsed(claim, 1), ({ sql }) => {
      own.push(sql)
      return sql.startsWith("SELECT DISTINCT") ? [{ holder: "dead" }] : []
    })
    const shared = translatedStatements().map(({ sql }) => sql)
    const slow = [...shared.filter((sql) => !onlyPostgres.test(sql)), ...own].flatMap((sql) =>
      database
        .prepare(`EXPLAIN QUERY PLAN ${sql}`)
        .all()
        .map(({ detail }) => String(detail))
        .filter((detail) => wholeTable.test(detail) && !fewRows.test(detail))
        .map((detail) => `${detail}: ${sql}`),
    )
    assert.equal(own.length, 3)
    assert.deepEqual(slow, [])
    database.close()
  })
})

/** Statements of its lease rules, and of what it asks the server itself. */
const onlyPostgres =
  /pg_locks|lease_until FROM runs\s+WHERE finished_at IS NULL AND waiting = 0 AND woken_at IS NULL ORDER BY num|clock_timestamp/
const wholeTable = /^SCAN (runs|events|requests|secrets|secret_keys|waits|outbox|cache|tombstones|kept_keys)\b/
/** Indexes with only the few runs, waits or notices that a look is about, and one end of a table. */
const fewRows =
  /USING (?:COVERING )?INDEX (?:runs_(?:claimable|cancelling|waiting|woken)|secret_keys_free|outbox_due|outbox_turns|waits_due|waits_open|waits_outcomes)$/

const scans = /Seq Scan on (runs|events|requests|secrets|secret_keys|waits|outbox|cache|tombstones|kept_keys)\b/

/** How the server would run each statement, whatever its values. */
async function explainAll(server: PostgresServer, schema: string): Promise<Map<string, string>> {
  const many = "generate_series(1, 20000) AS n"
  await server.query(
    `SET search_path TO ${schema};
     ${emptiedTables.map((table) => `DELETE FROM ${table}`).join("; ")};
     INSERT INTO runs (run_id, caller, created_at, finished_at, resumable, fence, lease_until, key, outcome)
       SELECT 'run ' || n, 'caller ' || n % 10, n, n, 1, 1, 0, '', 'completed' FROM ${many};
     INSERT INTO events (run, last, body) SELECT num, 1, '' FROM runs;
     INSERT INTO requests (run, body) SELECT num, '' FROM runs;
     INSERT INTO waits (run, id, kind, caller, opened_at, due_at, status, taken, body)
       SELECT num, 'q', 'question', caller, 1, 1, 1, 1, '' FROM runs;
     INSERT INTO outbox (run_id, event_id, caller, event, caused_at, status, attempts, due_at, url, receiver)
       SELECT run_id, 1, caller, 'completed', 1, 'delivered', 1, 1, '', '' FROM runs;
     INSERT INTO cache (entry, slot, expires_at, body) SELECT n::text::bytea, n::text::bytea, n, '' FROM ${many};
     INSERT INTO kept_keys (idempotency, fingerprint, run_id, until) SELECT n::text::bytea, '', 'run ' || n, n FROM ${many};
     INSERT INTO tombstones (run_id, caller, until) SELECT 'old ' || n, '', n FROM ${many};
     ANALYZE`,
  )
  const plans = new Map<string, string>()
  for (const { name, text } of translatedStatements()) {
    const count = Math.max(0, ...[...text.matchAll(/\$(\d+)/g)].map(([, number]) => Number(number)))
    const values = count === 0 ? "" : `(${Array.from({ length: count }, () => "NULL").join(", ")})`
    const plan = await server.query(
      `SET search_path TO ${schema}; ${byIndex}; SET plan_cache_mode TO force_generic_plan; PREPARE ${name} AS ${text}; EXPLAIN EXECUTE ${name}${values}`,
    )
    plans.set(text, plan.map((row) => String(row["QUERY PLAN"])).join("\n"))
  }
  return plans
}

function isOpen(store: RunStore): Promise<boolean> {
  return store.probe().then(
    () => true,
    () => false,
  )
}
