import { replicaEnvironment } from "../support/cluster.ts"
import { startNats } from "../support/nats-server.ts"
import { checkWrongClock } from "../support/wrong-clock.ts"

checkWrongClock("NATS", async () => {
  const cluster = await startNats(1)
  return { env: replicaEnvironment(cluster.url), close: () => cluster.close() }
})
