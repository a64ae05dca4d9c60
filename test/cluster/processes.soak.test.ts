import { randomBytes } from "node:crypto"
import { test } from "node:test"
import { startNats } from "../support/nats-server.ts"
import { checkKilledProcess } from "../support/several-processes.ts"

test("kill -9 of one of two processes during 20 runs: the other takes them up", async (t) => {
  const broker = await startNats(1)
  t.after(() => broker.close())
  await checkKilledProcess({ WIRE_STORE: broker.url, WIRE_ENCRYPTION_KEY: randomBytes(32).toString("base64") })
})
