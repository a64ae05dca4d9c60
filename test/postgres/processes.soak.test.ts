import { randomBytes } from "node:crypto"
import { test } from "node:test"
import { startPostgres } from "../support/postgres-server.ts"
import { checkKilledProcess } from "../support/several-processes.ts"

test("kill -9 of one of two processes during 20 runs: the other takes them up", async (t) => {
  const server = await startPostgres()
  t.after(() => server.close())
  await checkKilledProcess({ WIRE_STORE: server.url(), WIRE_ENCRYPTION_KEY: randomBytes(32).toString("base64") })
})
