import { replicaEnvironment } from "../support/replica.ts"
import { startPostgres } from "../support/postgres-server.ts"
import { checkWrongClock } from "../support/wrong-clock.ts"

checkWrongClock("PostgreSQL", async () => {
  const server = await startPostgres({ config: ["fsync=off"] })
  return { env: replicaEnvironment(server.url()), close: () => server.close() }
})
