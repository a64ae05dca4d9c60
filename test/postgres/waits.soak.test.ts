import { randomBytes } from "node:crypto"
import { after } from "node:test"
import { startPostgres } from "../support/postgres-server.ts"
import { checkWaitingForPayment } from "../support/waiting-for-payment.ts"

checkWaitingForPayment(
  "PostgreSQL, two replicas",
  async () => {
    const server = await startPostgres()
    after(() => server.close())
    return { STORE: server.url(), ENCRYPTION_KEY: randomBytes(32).toString("base64") }
  },
  2,
)
