import { randomBytes } from "node:crypto"
import { after } from "node:test"
import { startPostgres } from "../support/postgres-server.ts"
import { checkWaitingClients } from "../support/waiting-clients.ts"

checkWaitingClients("PostgreSQL", async () => {
  const server = await startPostgres()
  after(() => server.close())
  return { STORE: server.url(), ENCRYPTION_KEY: randomBytes(32).toString("base64") }
})
