import { randomBytes } from "node:crypto"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { openSqliteStore } from "../src/adapters/sqlite/open-sqlite-store.ts"
import { systemClock } from "../src/adapters/system/system-clock.ts"
import { createMasterKey } from "../src/adapters/vault/vault.ts"
import { allRuns } from "../src/ports/run-list.ts"
import { statsUnits } from "../src/ports/run-stats.ts"
import type { RunStore } from "../src/ports/store.ts"
import { searchRuns } from "../src/server/run-search.ts"
import { startPostgres } from "../test/support/postgres-server.ts"
import { postgresStores } from "../test/support/postgres-store.ts"

// What a search costs among many stored runs: one that hits in the newest 1,000, one that hits nothing, and the counts of a day.
//   npm run bench -- run-search [RUNS] [sqlite|postgres]

const [wanted = "100000", only = ""] = process.argv.slice(2)
const count = Number(wanted)
const together = 200
const noOptions = { cache_key: null, use_cache: true, max_concurrency: null, timeout_ms: null, deltas: false }
const dayMs = statsUnits.day
const newest = Date.now()
const usage = {
  input_tokens: 900,
  output_tokens: 100,
  cached_tokens: 0,
  written_tokens: 0,
  reasoning_tokens: 0,
  cost: 0.002,
}

/** Run `at` of the list, from the newest: made by the store itself, with its sealed preview and its end. */
async function add(store: RunStore, at: number): Promise<void> {
  const created_at = newest - Math.floor((at / count) * 7 * dayMs)
  const run_id = randomBytes(16).toString("hex")
  const input = { ticket: `Order ${at} has not arrived`, customer: at === 800 ? "needle" : "hay" }
  const request = {
    source: "agent answer {}",
    input,
    secrets: {},
    options: noOptions,
    workflow: { name: "triage", version: "0123456789ab" },
  }
  const made = await store.create(
    { run_id, caller: `caller ${at % 10}`, request, created_at, idempotency: null },
    "bench",
    60_000,
  )
  if (made.outcome !== "created") throw new Error(made.outcome)
  const when = new Date(created_at + 1_000 + (at % 900)).toISOString()
  const error = { kind: "timeout", message: "The model did not answer in time", issues: [] } as const
  await store.append(made.lease, [
    at % 10 === 0
      ? { id: 1, at: when, type: "workflow_failed", data: { error, usage, duration_ms: 1 } }
      : {
          id: 1,
          at: when,
          type: "workflow_completed",
          data: { output: { result: { reply: "It is on its way" } }, usage, duration_ms: 1 },
        },
  ])
}

async function took(work: () => Promise<unknown>): Promise<number> {
  let least = Infinity
  for (let time = 0; time < 10; time++) {
    const from = performance.now()
    await work()
    least = Math.min(least, performance.now() - from)
  }
  return least
}

async function measure(name: string, store: RunStore): Promise<void> {
  for (let at = 0; at < count; at += together) {
    await Promise.all(Array.from({ length: Math.min(together, count - at) }, (_, more) => add(store, at + more)))
  }
  const search = (words: string[]) => searchRuns(store, allRuns, { words, min_cost: null, min_seconds: null }, 1)
  const hit = await took(async () => {
    // The page is full with one: it need not look further.
    const { found } = await searchRuns(store, allRuns, { words: ["needle"], min_cost: null, min_seconds: null }, 0)
    if (found.length !== 1) throw new Error("The search found nothing")
  })
  const from = performance.now()
  const none = await search(["nothing has this word"])
  const miss = performance.now() - from
  const stats = { ...allRuns, since: newest - dayMs, min_cost: null, min_seconds: null, unit: "hour" } as const
  const day = await took(() => store.stats(stats))
  const week = await took(() => store.stats({ ...stats, since: newest - 7 * dayMs }))
  process.stdout.write(
    `${name}, ${count} runs: a hit in the newest 1,000 ${hit.toFixed(0)} ms (goal 200), a request that finds nothing ${miss.toFixed(0)} ms` +
      `${none.stoppedAt === null ? "" : " and says how far it looked"}, counts of a day ${day.toFixed(0)} ms, of a week ${week.toFixed(0)} ms\n`,
  )
  await store.close()
}

if (only !== "postgres") {
  const folder = mkdtempSync(join(tmpdir(), "run-search-"))
  const masterKey = createMasterKey(randomBytes(32))
  await measure("SQLite", await openSqliteStore({ path: join(folder, "wire.db"), masterKey, clock: systemClock }))
  rmSync(folder, { recursive: true, force: true })
}
if (only !== "sqlite") {
  const server = await startPostgres({ config: [] })
  await measure("PostgreSQL", await postgresStores(server.url(), systemClock, "search")())
  await server.close()
}
