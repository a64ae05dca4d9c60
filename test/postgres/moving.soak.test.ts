import { after, before, test } from "node:test"
import { systemClock } from "../../src/adapters/system/system-clock.ts"
import { movingHistory } from "../support/moving-histories.ts"
import { startPostgres, type PostgresServer } from "../support/postgres-server.ts"
import { postgresStores } from "../support/postgres-store.ts"

let server: PostgresServer
before(async () => {
  server = await startPostgres({ config: ["fsync=off"] })
})
after(() => server.close())

test("a run that moves at its waits ends like a new run of its last version, and does nothing twice: PostgreSQL", async () => {
  const store = await postgresStores(server.url(), systemClock)()
  for (let seed = 1; seed <= 12; seed++) await movingHistory(store, seed)
  await store.close()
})
