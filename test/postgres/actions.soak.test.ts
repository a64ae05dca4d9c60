import { after, before, test } from "node:test"
import { systemClock } from "../../src/adapters/system/system-clock.ts"
import { actionHistory } from "../support/action-histories.ts"
import { startPostgres, type PostgresServer } from "../support/postgres-server.ts"
import { postgresStores } from "../support/postgres-store.ts"

let server: PostgresServer
before(async () => {
  server = await startPostgres({ config: ["fsync=off"] })
})
after(() => server.close())

test("an action on many runs acts on each once, wherever its processes die: PostgreSQL", async () => {
  const store = await postgresStores(server.url(), systemClock)()
  for (let seed = 1; seed <= 30; seed++) await actionHistory(store, seed)
  await store.close()
})
