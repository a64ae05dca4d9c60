import { randomBytes } from "node:crypto"
import { after } from "node:test"
import { startNats } from "../support/nats-server.ts"
import { checkWaitingClients } from "../support/waiting-clients.ts"

checkWaitingClients("NATS", async () => {
  const broker = await startNats(1)
  after(() => broker.close())
  return { STORE: broker.url, ENCRYPTION_KEY: randomBytes(32).toString("base64") }
})
