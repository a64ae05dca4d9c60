import assert from "node:assert/strict"
import { describe, it } from "node:test"
import type { Question } from "../../../src/log/events.ts"
import { errorOf, startService } from "./start-service.ts"

const draft = "Dear Ada"

const asking = `
input { draft: string  days: number }
ask review {
    question: "Send?"
    prefill: { note: input.draft, tone: "formal" }
    expires_seconds: input.days * 86_400
    output { send: boolean  note: string  tone: enum { formal, kind }  reason: maybe string }
}
output { answer: ask.review }
`

const approving = (words: string, more = ""): string => `
input { title: string }
mcp library { endpoint: "demo" }
tool reserve from mcp.library.tool.reserve { approval { ${words} } }
dynamic { done: call tool.reserve { input { title: input.title  reader: "Ada" } ${more} } }
output { done: dynamic.done }
`

describe("what questions begin with and show, over HTTP", async () => {
  const service = await startService()
  const start = async (workflow_source: string, input: object): Promise<Question> => {
    const response = await service.post("/execute", { workflow_source, input })
    const { questions } = (await response.json()) as { questions: Question[] }
    assert.equal(response.status, 202, JSON.stringify(questions))
    const [question, ...more] = questions
    assert.ok(question !== undefined && more.length === 0)
    return question
  }
  const answer = ({ run_id, id, digest }: Question, given: object): Promise<Response> =>
    service.post(`/execute/${run_id}/questions/${id}`, { answer: given, ...(digest !== undefined && { digest }) })
  const outputOf = async ({ run_id }: Question): Promise<unknown> => {
    const record = (await (await service.get(`/execute/${run_id}?wait=30`)).json()) as { output: unknown }
    return record.output
  }

  it("an answer that leaves a field out takes what it begins with; what it has counts", async () => {
    const question = await start(asking, { draft, days: 1 })
    assert.deepEqual(question.prefill, { note: draft, tone: "formal" })
    assert.deepEqual(question.schema["required"], ["send"])
    const missing = await errorOf(await answer(question, { note: "Dear Bob" }))
    assert.deepEqual([missing.status, missing.issues.map(({ path }) => path)], [422, ["answer.send"]])
    const wrong = await errorOf(await answer(question, { send: true, note: null }))
    assert.deepEqual([wrong.status, wrong.issues.map(({ path }) => path)], [422, ["answer.note"]])
    const given = await answer(question, { send: true, tone: "kind" })
    assert.equal(given.status, 200)
    const whole = { send: true, note: draft, tone: "kind", reason: null }
    assert.deepEqual(((await given.json()) as Question).answer, whole)
    assert.deepEqual(await outputOf(question), { answer: whole })
    // The same answer, written out.
    assert.equal((await answer(question, whole)).status, 200)
  })

  it("`expires_seconds` is computed, and must be in its range", async () => {
    const { asked_at, expires_at } = await start(asking, { draft, days: 2 })
    assert.equal(Date.parse(expires_at) - Date.parse(asked_at), 172_800_000)
    for (const days of [0, -1, 91]) {
      const error = await errorOf(await service.post("/execute", { workflow_source: asking, input: { draft, days } }))
      assert.deepEqual([error.kind, error.issues[0]?.path], ["evaluation_error", "ask.review.expires_seconds"])
    }
  })

  it("the card of an approval has its question and what it shows, above the call", async () => {
    const words = `question: "Reserve {{ input.title }}?", show: { title: input.title, times: 2 }`
    const question = await start(approving(words), { title: "Owls" })
    assert.equal(question.question, "Reserve Owls?")
    assert.deepEqual(question.show, { title: "Owls", times: 2 })
    assert.deepEqual([question.tool, question.arguments], ["reserve", { title: "Owls", reader: "Ada" }])
    assert.equal((await answer(question, { approve: true })).status, 200)
    assert.match(JSON.stringify(await outputOf(question)), /Owls/)
  })

  it("what the import asks and shows goes before what the call does", async () => {
    const own = `approval { question: "The call's?", show: "the call's" }`
    const first = await start(approving(`question: "The import's?"`, own), { title: "Owls" })
    assert.deepEqual([first.question, first.show], ["The import's?", "the call's"])
    const plain = await start(approving("expires_seconds: 60"), { title: "Owls" })
    assert.deepEqual([plain.question, plain.show], ["Allow library.reserve?", null])
  })

  it("a question that is too long fails the call's run, at its place", async () => {
    const source = approving(`question: "{{ input.title }}{{ input.title }}"`)
    const input = { title: "x".repeat(150_000) }
    const error = await errorOf(await service.post("/execute", { workflow_source: source, input }))
    assert.deepEqual([error.kind, error.issues[0]?.path], ["limit_exceeded", "dynamic.done.approval.question"])
  })
})
