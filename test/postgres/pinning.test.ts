import { randomBytes } from "node:crypto"
import { after, test } from "node:test"
import { pinTakesBackOnReplicas } from "../contract/http/pinned-replicas.ts"
import { startPostgres } from "../support/postgres-server.ts"

test("a pin takes back a bad file on two replicas, which restart with it: PostgreSQL", async () => {
  const server = await startPostgres({ config: ["fsync=off"] })
  after(() => server.close())
  await pinTakesBackOnReplicas({ STORE: server.url(), ENCRYPTION_KEY: randomBytes(32).toString("hex") })
})
