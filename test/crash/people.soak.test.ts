import assert from "node:assert/strict"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, before, test } from "node:test"
import type { JsonObject } from "../../src/base/json-value.ts"
import type { RunStore } from "../../src/ports/store.ts"
import type { AskedQuestion } from "../../src/log/events.ts"
import { isTerminal } from "../../src/log/events.ts"
import { allQuestions } from "../support/all-questions.ts"
import { startServer, type TestServer } from "../support/http-server.ts"
import { startPostgres } from "../support/postgres-server.ts"
import { within } from "../support/within.ts"
import { logIn, startChild } from "./run-child.ts"
import { openStore } from "./service.ts"

// A real process with a run that asks people, killed with SIGKILL after each of its appends, and another one that goes on. The
// people are in this process: they answer by way of the store whenever a question is open, whether or not a process runs.

let folder = ""
let server: TestServer

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "wire-people-"))
  server = await startServer((request, response) => {
    const body = JSON.parse(request.body) as JsonObject
    const answer = request.url === "/tool" ? `sent ${JSON.stringify(body["text"])}` : JSON.stringify(think(body))
    response.writeHead(200, { "content-type": "application/json" })
    response.end(answer)
  })
})

after(async () => {
  await server.close()
  rmSync(folder, { recursive: true, force: true })
})

/** Sends twice, then says how many answers it had. */
function think(body: JsonObject): JsonObject {
  const input = body["input"] as JsonObject[]
  const outputs = input.filter((item) => item["type"] === "function_call_output").length
  const usage = { input_tokens: 3, output_tokens: 2 }
  if (outputs < 2) {
    const text = outputs === 0 ? "one" : "two"
    const call = { type: "function_call", call_id: `c${outputs}`, name: "send", arguments: JSON.stringify({ text }) }
    return { output: [call], usage }
  }
  const content = [{ type: "output_text", text: JSON.stringify({ message: `after ${outputs}` }) }]
  return { output: [{ type: "message", role: "assistant", content }], usage }
}

/** Answers every question as it is asked, except the one that nobody answers. */
async function people(store: RunStore, run_id: string, signal: AbortSignal): Promise<void> {
  for await (const event of store.follow(run_id, 0, signal)) {
    if (event.type !== "question_asked") continue
    const answer = answerTo(event.data)
    if (answer === null) continue
    const outcome = await store.questions.answer(run_id, event.data.id, { answer, answered_by: nobodyInParticular })
    assert.equal(outcome?.stored, true, `the answer to ${event.data.name}`)
  }
}

const nobodyInParticular = { caller: null, by: null }

function answerTo({ kind, name, arguments: sent, prefill }: AskedQuestion): JsonObject | null {
  if (kind === "approval") return { approve: sent?.["text"] === "one", note: null }
  if (name === "first") return { go: true }
  return name === "second" ? { ...prefill, good: true } : null
}

/** What holds of the log and of the calls, wherever the process was killed. */
async function check(store: RunStore, run_id: string, where: string): Promise<void> {
  const events = await logIn(store, run_id)
  assert.deepEqual(
    events.map(({ id }) => id),
    events.map((_, index) => index + 1),
    where,
  )
  assert.equal(events.filter(({ type }) => isTerminal(type)).length, 1, where)
  const end = events.at(-1)
  assert.equal(end?.type, "workflow_completed", `${where}: ${JSON.stringify(end)}`)
  const result = end?.type === "workflow_completed" ? end.data.output.result : null
  assert.deepEqual(
    result,
    { first: true, work: "after 2", second: true, note: "after 2, true", nobody: "nobody" },
    where,
  )

  const asked = events.filter((event) => event.type === "question_asked")
  const names = asked.map(({ data }) => data.name).toSorted()
  assert.deepEqual(names, ["first", "nobody", "second", "send", "send"], where)
  const questions = await allQuestions(store, run_id)
  for (const { data } of asked) {
    const outcomes = events.filter(
      ({ type, data: other }) =>
        (type === "question_answered" || type === "question_expired") && (other as { id: string }).id === data.id,
    )
    assert.deepEqual(
      outcomes.map(({ type }) => type),
      [data.name === "nobody" ? "question_expired" : "question_answered"],
      `${where}: outcomes of ${data.name}`,
    )
    const { status } = questions.find(({ id }) => id === data.id) ?? {}
    assert.equal(status, data.name === "nobody" ? "expired" : "answered", where)
  }

  // No tool is called without its approval, and none twice.
  const calls = server.received
    .filter(({ url }) => url === "/tool")
    .map(({ body }) => JSON.parse(body) as { text: string; call_id: string })
  const own = new Set(asked.map(({ data }) => data.call_id))
  const made = calls.filter(({ call_id }) => own.has(call_id))
  assert.ok(
    calls.every(({ text }) => text === "one"),
    `${where}: a declined call was made`,
  )
  assert.ok(made.length <= 1, `${where}: ${made.length} calls`)
  for (const event of events) {
    if (event.type !== "tool_call_started") continue
    const question = asked.find(({ data }) => data.call_id === event.data.call_id)
    const answered = events.find(
      (other) => other.type === "question_answered" && other.data.id === question?.data.id && other.id < event.id,
    )
    assert.ok(answered?.type === "question_answered", `${where}: a call began without an answer`)
    assert.equal((answered.data.answer as JsonObject)["approve"], true, where)
  }
  const begun = events.filter(({ type }) => type === "tool_call_started").length
  assert.ok(made.length <= begun, where)
}

/** One run, killed after so many appends of its first process, then finished by another. Whether it was killed. */
async function killedAfter(place: string, appends: number, leaseMs: number): Promise<boolean> {
  const store = await openStore(place)
  const stop = new AbortController()
  let answering: Promise<void> | null = null
  try {
    const options = { workflow: "people", place, origin: server.origin, leaseMs, folder } as const
    const first = startChild({ ...options, appends })
    const run_id = await within(30_000, "the run's id", first.run)
    answering = people(store, run_id, stop.signal)
    const killed = await first.killed
    const before = await logIn(store, run_id)
    if (killed) await startChild({ ...options, appends: 0, run_id }).killed
    const where = `after append ${appends}, event ${before.length} (${before.at(-1)?.type ?? "none"})`
    assert.deepEqual((await logIn(store, run_id)).slice(0, before.length), before, where)
    await check(store, run_id, where)
    return killed
  } finally {
    stop.abort()
    await answering
    await store.close()
  }
}

/** Three at a time, each with a store of its own: most of it is waiting. */
async function killedAfterEach(placeOf: (appends: number) => string): Promise<void> {
  for (let first = 1; ; first += 3) {
    const batch = [first, first + 1, first + 2]
    const killed = await Promise.all(batch.map((appends) => killedAfter(placeOf(appends), appends, 10_000)))
    const last = batch[killed.indexOf(false)]
    if (last === undefined) continue
    assert.ok(last > 6, `only ${last} appends`)
    return
  }
}

test("SQLite: killed after every single append, a run that asks people comes to the same end", () =>
  killedAfterEach((appends) => join(folder, `kill-${appends}.db`)))

test("PostgreSQL: killed after every single append, a run that asks people is taken over by another process", async (t) => {
  const postgres = await startPostgres()
  t.after(() => postgres.close())
  await killedAfterEach((appends) => `${postgres.url()}#kill_${appends}`)
})
