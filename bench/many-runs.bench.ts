import { allRuns } from "../src/ports/run-list.ts"
import { randomBytes } from "node:crypto"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { systemClock } from "../src/adapters/system/system-clock.ts"
import { createMasterKey } from "../src/adapters/vault/vault.ts"
import type { RunStore } from "../src/ports/store.ts"
import { aRun, ended, happened } from "../test/contract/run-store/material.ts"
import { startPostgres } from "../test/support/postgres-server.ts"
import { postgresStores } from "../test/support/postgres-store.ts"
import { endedRuns, sqliteWithRuns } from "./stored-runs.ts"

// What a full database costs: the same operations with 1,000 ended runs and with 1,000,000, in turns, on both SQL databases.
//   npm run bench -- many-runs [RUNS] [sqlite|postgres]

const few = 1_000
const many = Number(process.argv[2] ?? 1_000_000)
const only = process.argv[3] ?? null
const rounds = 200
const caller = "caller 3"

const page = { ...allRuns, limit: 20 }
const inbox = { caller, to: null, status: "open", limit: 20, after: null, groups: [], member_of: [] } as const

const operations: Readonly<Record<string, (store: RunStore) => Promise<unknown>>> = {
  "a whole run": async (store) => {
    const outcome = await store.create(aRun({ caller }), "bench", 60_000)
    if (outcome.outcome !== "created") throw new Error(outcome.outcome)
    await store.append(outcome.lease, [happened(1)])
    await store.append(outcome.lease, [ended(2)])
  },
  "a claim that finds nothing": (store) => store.claim("bench", 10, 60_000),
  "the list of runs": (store) => store.list({ ...page, caller, status: null }),
  "the list of failed runs": (store) => store.list({ ...page, caller, status: "failed" }),
  "the list of a workflow": (store) => store.list({ ...page, workflows: ["flow"], caller, status: null }),
  "the inbox": (store) => store.questions.inbox(inbox),
  "what /metrics asks": (store) => store.waits.counts(),
  "what a caller stores": async (store) => store.stored(caller),
  "a sweep that finds nothing": (store) => store.sweep(1),
  "a look at the outbox": (store) => store.outbox.take(10, 1_000),
}

async function compare(name: string, open: (count: number) => Promise<RunStore>): Promise<void> {
  const begun = performance.now()
  const stores = [await open(few), await open(many)] as const
  process.stdout.write(`${name}: filled in ${((performance.now() - begun) / 1000).toFixed(0)} s\n`)
  for (const [what, operate] of Object.entries(operations)) {
    const times: [number[], number[]] = [[], []]
    for (let round = 0; round < rounds + 20; round++) {
      for (const at of [0, 1] as const) {
        const from = performance.now()
        await operate(stores[at])
        if (round >= 20) times[at].push(performance.now() - from)
      }
    }
    const [small, large] = times.map((list) => list.toSorted((a, b) => a - b)[Math.floor(rounds / 2)] ?? NaN)
    const ratio = (large ?? NaN) / (small ?? NaN)
    process.stdout.write(
      `  ${what.padEnd(28)} ${small?.toFixed(3)} ms with ${few}, ${large?.toFixed(3)} ms with ${many}: ${ratio.toFixed(2)}x\n`,
    )
  }
  for (const store of stores) await store.close()
}

const folder = mkdtempSync(join(tmpdir(), "wireworks-many-"))
try {
  if (only !== "postgres") {
    const masterKey = createMasterKey(randomBytes(32))
    await compare("SQLite", (count) => sqliteWithRuns(join(folder, `${count}.db`), masterKey, count))
  }
  if (only !== "sqlite") {
    const server = await startPostgres({ config: [] })
    try {
      await compare("PostgreSQL", async (count) => {
        const open = postgresStores(server.url(), systemClock, `many${count}`)
        await (await open()).close()
        for (const sql of endedRuns(count)) await server.query(`SET search_path TO many${count}; ${sql}`)
        await server.query(`SET search_path TO many${count}; ANALYZE`)
        return open()
      })
    } finally {
      await server.close()
    }
  }
} finally {
  rmSync(folder, { recursive: true })
}
