import assert from "node:assert/strict"
import type { Question } from "../../../src/log/events.ts"
import { errorOf, type TestService } from "./start-service.ts"

const asking = `
input { words: [string] }
dynamic { allowed: input.words }
ask review for word in input.words {
    question: "{{ word }}?"
    output { yes: boolean  note: maybe string }
    require result.yes || result.note != null else "Say why not {{ word }}."
    require dynamic.allowed contains (result.note ?? "fine")
}
output { answers: ask.review }
`

/** A question refuses answers that do not fulfil its requirements, and stays open. `other` answers what `service` asks. */
export async function questionRefusesAnswers(service: TestService, other: TestService = service): Promise<void> {
  const words = ["fine", "well"]
  const response = await service.post("/execute", { workflow_source: asking, input: { words } })
  assert.equal(response.status, 202)
  const { run_id, questions } = (await response.json()) as { run_id: string; questions: Question[] }
  assert.doesNotMatch(JSON.stringify(questions), /captured|requirements/)
  const answer = (at: number, body: object): Promise<Response> =>
    other.post(`/execute/${run_id}/questions/${questions[at]?.id}`, { answer: body })
  const first = await errorOf(await answer(1, { yes: false, note: null }))
  assert.deepEqual([first.status, first.kind], [422, "input_error"])
  assert.deepEqual(first.issues, [{ path: "ask.review.require[0]", message: "Say why not well." }])
  const second = await errorOf(await answer(1, { yes: false, note: "no" }))
  const message = 'Required: dynamic.allowed contains (result.note ?? "fine")'
  assert.deepEqual(second.issues, [{ path: "ask.review.require[1]", message }])
  const typed = await errorOf(await answer(1, { yes: 1, note: null }))
  assert.deepEqual(
    typed.issues.map(({ path }) => path),
    ["answer.yes"],
  )
  const open = (await (await other.get(`/execute/${run_id}/questions`)).json()) as { questions: Question[] }
  assert.deepEqual(
    open.questions.map(({ status }) => status),
    ["open", "open"],
  )
  assert.equal((await answer(1, { yes: false, note: "well" })).status, 200)
  assert.equal((await answer(0, { yes: true, note: null })).status, 200)
  const record = await service.get(`/execute/${run_id}?wait=30`)
  const { output } = (await record.json()) as { output: { answers: unknown } }
  assert.deepEqual(output.answers, [
    { yes: true, note: null },
    { yes: false, note: "well" },
  ])
  const again = await other.post(`/execute/${run_id}/rerun`, {})
  assert.equal(again.status, 200, "the answers are taken over")
  const changed = asking.replace("Say why not", "Why not")
  const asked = await service.post(`/execute/${run_id}/rerun`, { workflow_source: changed })
  assert.equal(asked.status, 202, "other requirements are another question")
}
