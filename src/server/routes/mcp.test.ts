import assert from "node:assert/strict"
import { after, test } from "node:test"
import { fastify } from "fastify"
import { StoreFailure } from "../../ports/store.ts"
import { MemoryShare } from "../../run/shares/memory-share.ts"
import { answerError } from "../answer-error.ts"
import type { HttpError } from "../http-error.ts"
import { refuse } from "../http-error.ts"
import { LargeAnswers } from "../large-answers.ts"
import type { McpRoute } from "../route-dependencies.ts"
import { mcpRoutes } from "./mcp.ts"

const answered: McpRoute = {
  answer(_request, _incoming, outgoing) {
    outgoing.writeHead(200, { "content-type": "application/json" }).end("{}")
    return Promise.resolve()
  },
}

/** A service that has nothing but `/mcp`, and this much memory for answers. */
function serviceOf(route: McpRoute, bytes: number, shortage: HttpError | null = null) {
  const bugs: unknown[] = []
  const transit = new MemoryShare({ all: bytes, perCaller: bytes, perRun: 0 })
  const app = fastify({ forceCloseConnections: true })
  app.decorateRequest("caller", "")
  app.setErrorHandler((error, _request, reply) => answerError(error, reply, (bug) => bugs.push(bug)))
  const explained = (error: unknown): unknown => shortage ?? error
  mcpRoutes(app, { route, transit, answers: new LargeAnswers(transit), explained, bug: (bug) => bugs.push(bug) })
  const address = app.listen({ host: "127.0.0.1", port: 0 })
  after(() => app.close())
  const ask = async () => {
    const headers = { "content-type": "application/json" }
    const answer = await fetch(`${await address}/mcp`, { method: "POST", headers, body: "{}" })
    const { error } = (await answer.json()) as { readonly error?: { readonly kind: string } }
    return [answer.status, error?.kind, answer.headers.get("retry-after")]
  }
  return { transit, bugs, ask }
}

test("while unread answers take all of the memory, a caller is answered as on other routes", async () => {
  const { transit, bugs, ask } = serviceOf(answered, 4_000_000)
  assert.deepEqual(await ask(), [200, undefined, null])
  const [ada, bob] = [transit.open("ada"), transit.open("bob")]
  ada.add(3_500_000)
  assert.deepEqual(await ask(), [200, undefined, null], "a caller with less than an equal part goes on")
  bob.add(4_000_000)
  assert.deepEqual(await ask(), [503, "overloaded", "1"])
  ada.close()
  bob.close()
  assert.deepEqual(await ask(), [200, undefined, null])
  assert.deepEqual(bugs, [])
})

test("an error before the answer begins is an answer: of the store, of what the process lacks, or a bug that is logged", async () => {
  const failing = (error: Error): McpRoute => ({ answer: () => Promise.reject(error) })
  const store = serviceOf(failing(new StoreFailure("The disk is full")), 4_000_000)
  assert.deepEqual(await store.ask(), [503, "overloaded", "5"])
  const short = serviceOf(failing(new Error("EMFILE")), 4_000_000, refuse("overloaded", "No file descriptors"))
  assert.deepEqual(await short.ask(), [503, "overloaded", "1"])
  assert.deepEqual([store.bugs, short.bugs], [[], []])
  const bug = serviceOf(failing(new Error("secret")), 4_000_000)
  assert.deepEqual(await bug.ask(), [500, "internal_error", null])
  assert.equal(bug.bugs.length, 1)
})
