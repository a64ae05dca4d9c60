import assert from "node:assert/strict"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, describe, it, type TestContext } from "node:test"
import type { Question } from "../../../src/log/events.ts"
import { fakeBackend, says } from "../../support/fake-backend.ts"
import { allEvents, type SeenEvent } from "./read-stream.ts"
import { errorOf, startService } from "./start-service.ts"

const directory = mkdtempSync(join(tmpdir(), "wireworks-run-values-"))
after(() => rmSync(directory, { recursive: true }))

interface Values {
  readonly id: string
  readonly started_at: string
  readonly date: string
}

function resultOf<Result>(events: readonly SeenEvent[]): Result {
  const { output } = (events.at(-1)?.data ?? {}) as { output?: { result: Result } }
  assert.ok(output !== undefined, JSON.stringify(events.at(-1)))
  return output.result
}

/** One agent for each of these texts, on a backend that counts what it is asked. */
async function agents(t: TestContext, ...texts: readonly string[]) {
  const { backend, asked } = await fakeBackend(t, () => says('{"message":"hi"}'))
  const source = `
provider p from openai { endpoint: "${backend.endpoint}" }
model m from p { id: "m" }
${texts.map((text, at) => `agent a${at} { model: model.m  instruction: "${text}"  output { message: string } }`).join("\n")}
output { run: run }
`
  return { source, asked }
}

describe("what a workflow sees of its run", async () => {
  const service = await startService()

  it("its id, and when it began", async () => {
    const before = new Date().toISOString()
    const response = await service.post(
      "/execute",
      { workflow_source: "output { id: run.id  started_at: run.started_at  date: run.date }" },
      { accept: "text/event-stream" },
    )
    const run_id = response.headers.get("x-service-run-id")
    const events = await allEvents(response)
    const planned = events.find(({ type }) => type === "workflow_planned")?.data["at"]
    const { id, started_at, date } = resultOf<Values>(events)
    assert.match(started_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    assert.ok(before <= started_at && started_at <= String(planned), started_at)
    assert.deepEqual([id, date], [run_id, started_at.slice(0, 10)])
  })

  it("a re-run has its own: what shows the day is taken over on that day, what shows the time or the id is not", async (t) => {
    const { source, asked } = await agents(t, "Day {{ run.date }}", "Time {{ run.started_at }}", "Id {{ run.id }}")
    const first = await service.post("/execute", { workflow_source: source })
    const run_id = first.headers.get("x-service-run-id") ?? ""
    const before = ((await first.json()) as { run: Values }).run
    assert.equal(asked.length, 3)
    const again = await service.post(`/execute/${run_id}/rerun`, {}, { accept: "text/event-stream" })
    const events = await allEvents(again)
    const { run } = resultOf<{ run: Values }>(events)
    assert.notEqual(run.id, before.id)
    assert.notEqual(run.started_at, before.started_at)
    const reused = events.filter(({ type }) => type === "step_reused").map(({ data }) => data["step"])
    assert.deepEqual(reused, run.date === before.date ? ["agent.a0"] : [])
    const validated = await service.post("/validate", { workflow_source: source, rerun_of: run_id })
    const { plan } = (await validated.json()) as { plan: { nodes: { id: string; rerun: { why: string } }[] } }
    const why = new Map(plan.nodes.map(({ id, rerun }) => [id, rerun.why]))
    assert.equal(why.get("agent.a1"), "It refers to run.started_at")
    assert.equal(why.get("agent.a2"), "It refers to run.id")
    assert.ok(["", "It refers to run.date"].includes(why.get("agent.a0") ?? "-"))
  })

  it("is not known before the run", async () => {
    const source = `provider p from openai { endpoint: "http://{{ run.id }}.example.com" }\noutput { a: 1 }`
    const { status, issues } = await errorOf(await service.post("/execute", { workflow_source: source }))
    assert.equal(status, 422)
    assert.equal(issues[0]?.code, "misplaced-expression")
  })
})

it("stays the same when another process takes the run up", async () => {
  const variables = { STORE: "sqlite", DATA_DIR: directory }
  const source = `
dynamic { before: { id: run.id, started_at: run.started_at, date: run.date } }
ask go { question: "{{ run.started_at }}?"  output { yes: boolean } }
output { before: dynamic.before  after: run  answered: ask.go.yes }
`
  const first = await startService(variables)
  const response = await first.post("/execute", { workflow_source: source })
  assert.equal(response.status, 202)
  const { run_id, questions } = (await response.json()) as { run_id: string; questions: Question[] }
  await first.stop()
  const second = await startService(variables)
  const [question] = questions
  const answered = await second.post(`/execute/${run_id}/questions/${question?.id}`, { answer: { yes: true } })
  assert.equal(answered.status, 200)
  const record = await second.get(`/execute/${run_id}?wait=30`)
  const { output } = (await record.json()) as { output: { before: Values; after: Values } }
  assert.deepEqual(output.after, output.before)
  assert.equal(question?.question, `${output.after.started_at}?`)
  assert.equal(output.after.id, run_id)
})
