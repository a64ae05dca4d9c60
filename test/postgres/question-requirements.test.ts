import { randomBytes } from "node:crypto"
import { test } from "node:test"
import { questionRefusesAnswers } from "../contract/http/question-requirements.ts"
import { startService } from "../contract/http/start-service.ts"
import { startPostgres } from "../support/postgres-server.ts"

test("requirements of a question refuse an answer at another replica with 422, and the question stays open: PostgreSQL", async () => {
  const server = await startPostgres({ config: ["fsync=off"] })
  const variables = { STORE: server.url(), ENCRYPTION_KEY: randomBytes(32).toString("hex") }
  const [one, other] = [await startService(variables), await startService(variables)]
  try {
    await questionRefusesAnswers(one, other)
  } finally {
    await Promise.all([one.stop(), other.stop()])
    await server.close()
  }
})
