import assert from "node:assert/strict"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, describe, it, type TestContext } from "node:test"
import { fakeBackend, says } from "../../support/fake-backend.ts"
import { questionRefusesAnswers } from "./question-requirements.ts"
import { allEvents, type SeenEvent } from "./read-stream.ts"
import { errorOf, startService } from "./start-service.ts"

const directory = mkdtempSync(join(tmpdir(), "wireworks-requirements-"))
after(() => rmSync(directory, { recursive: true }))

/** An agent on a backend that says these texts one after the other, the last again and again. */
async function posting(t: TestContext, answers: readonly string[], more = "") {
  const { backend, asked } = await fakeBackend(t, (_, n) => says(answers[n - 1] ?? answers.at(-1) ?? ""))
  const source = `
input { least: integer  banned: [string] }
provider p from openai { endpoint: "${backend.endpoint}" }
model m from p { id: "m" }
model other from p { id: "other" }
agent post {
    model: model.m
    instruction: "Post."
    output { text: string  score: integer }
    require result.score >= input.least else "A score of {{ input.least }} or more; this has {{ result.score }}."
    require !(input.banned contains result.text)
    ${more}
}
output { post: agent.post }
`
  return { source, asked }
}

const text = (score: number, said = "hi"): string => JSON.stringify({ text: said, score })
const low = "A score of 3 or more; this has 1."
const banned = "Required: !(input.banned contains result.text)"
const input = { least: 3, banned: ["bad"] }

function of(events: readonly SeenEvent[], type: string): SeenEvent["data"][] {
  return events.filter((event) => event.type === type).map(({ data }) => data)
}

describe("requirements of an agent over HTTP", async () => {
  const service = await startService()
  const stream = { accept: "text/event-stream" }

  it("are said to the model together, until it fulfils them", async (t) => {
    const { source, asked } = await posting(t, [text(1, "bad"), text(1), text(5)])
    const body = { workflow_source: source, input }
    const events = await allEvents(await service.post("/execute", body, stream))
    const retried = of(events, "agent_retried")
    assert.deepEqual(
      retried.map(({ attempt, delay_ms, requirements }) => ({ attempt, delay_ms, requirements })),
      [
        {
          attempt: 2,
          delay_ms: 0,
          requirements: [
            { index: 0, message: low },
            { index: 1, message: banned },
          ],
        },
        { attempt: 3, delay_ms: 0, requirements: [{ index: 0, message: low }] },
      ],
    )
    assert.equal(retried[0]?.["reason"], `The output does not fulfil its requirements: ${low} (and 1 more)`)
    assert.match(JSON.stringify(asked[1]), /- A score of 3 or more; this has 1\.\\n- Required: !\(input\.banned/)
    assert.equal(asked.length, 3)
    const [completed] = of(events, "agent_completed")
    assert.deepEqual(completed?.["output"], { text: "hi", score: 5 })
    assert.equal((completed?.["calls"] as unknown[] | undefined)?.length, 3)
  })

  it("fail the agent when the retries are used up, with one issue each", async (t) => {
    const { source, asked } = await posting(t, [text(1, "bad")])
    const { status, kind, issues } = await errorOf(await service.post("/execute", { workflow_source: source, input }))
    assert.deepEqual([status, kind, asked.length], [502, "output_error", 3])
    assert.deepEqual(issues, [
      { path: "agent.post.require[0]", message: low },
      { path: "agent.post.require[1]", message: banned },
    ])
  })

  it("count with outputs of a wrong type, and send the agent to its next model", async (t) => {
    const list = "model: [model.m { inference { output_retries: 1 } }, model.other]"
    const { source, asked } = await posting(t, ['{"text":"hi"}', text(1), text(4)])
    const body = { workflow_source: source.replace("model: model.m", list), input }
    const events = await allEvents(await service.post("/execute", body, stream))
    assert.deepEqual(
      of(events, "agent_retried").map(({ requirements }) => requirements),
      [undefined],
    )
    const [fallback] = of(events, "agent_fallback") as { error?: { issues: unknown }; to?: string; answer?: string }[]
    assert.deepEqual(fallback?.error?.issues, [{ path: "agent.post.require[0]", message: low }])
    assert.equal(fallback?.answer, text(1))
    assert.deepEqual(
      asked.map(({ model }) => model),
      ["m", "m", "other"],
    )
    assert.equal(events.at(-1)?.type, "workflow_completed")
  })

  it("let the agent be skipped where it may", async (t) => {
    const { source } = await posting(t, [text(1)], "on_failure: skip")
    const skipping = source.replace("output { post: agent.post }", "output { post: agent.post?.text }")
    const response = await service.post("/execute", { workflow_source: skipping, input })
    assert.deepEqual(await response.json(), { post: null })
  })

  it("an error of evaluation counts as not holding, and its sentence is the text", async (t) => {
    const { source } = await posting(t, [text(0), text(4)], 'require 12 / result.score == 3 else "Never said"')
    const body = { workflow_source: source, input: { ...input, least: 0 } }
    const events = await allEvents(await service.post("/execute", body, stream))
    const [retried] = of(events, "agent_retried")
    const [rejection] = (retried?.["requirements"] ?? []) as { index: number; message: string }[]
    assert.equal(rejection?.index, 2)
    assert.match(rejection.message, /^Cannot evaluate 12 \/ result\.score: /)
    assert.equal(events.at(-1)?.type, "workflow_completed")
  })

  it("are part of the cache key and of what a re-run compares, with what they refer to", async (t) => {
    const { source, asked } = await posting(t, [text(5)])
    const options = { cache_key: "requirements", use_cache: true }
    const execute = (least: number, from = source): Promise<Response> =>
      service.post("/execute", { workflow_source: from, input: { ...input, least }, options })
    const first = await execute(3)
    assert.equal(first.status, 200)
    assert.equal((await execute(3)).status, 200)
    assert.equal(asked.length, 1)
    assert.equal((await execute(4)).status, 200)
    assert.equal(asked.length, 2)
    assert.equal((await execute(3, source.replace("or more", "at least"))).status, 200)
    assert.equal(asked.length, 3)
    const run_id = first.headers.get("x-service-run-id") ?? ""
    const rerun = (least: number): Promise<Response> =>
      service.post(`/execute/${run_id}/rerun`, { input: { ...input, least }, options: {} })
    assert.equal((await rerun(3)).status, 200)
    assert.equal(asked.length, 3)
    assert.equal((await rerun(2)).status, 200)
    assert.equal(asked.length, 4)
    const validated = await service.post("/validate", {
      workflow_source: source.replace("or more", "at least"),
      input,
      rerun_of: run_id,
    })
    const { plan } = (await validated.json()) as { plan: { nodes: { id: string; rerun: { why: string } }[] } }
    assert.equal(plan.nodes.find(({ id }) => id === "agent.post")?.rerun.why, "Its text changed")
  })

  it("see the loop's variable, the agent's own values and the run", async (t) => {
    const { backend, asked } = await fakeBackend(t, (_, n) => says(n === 1 ? '{"n":1}' : '{"n":7}'))
    const source = `
provider p from openai { endpoint: "${backend.endpoint}" }
model m from p { id: "m" }
agent each for least in [7] {
    model: model.m
    instruction: "Count."
    dynamic { twice: least * 2 }
    output { n: integer }
    require result.n * 2 == dynamic.twice && least == result.n else "{{ least }} on {{ run.date }}, not {{ result.n }}"
}
output { n: agent.each.*.n }
`
    const events = await allEvents(await service.post("/execute", { workflow_source: source }, stream))
    assert.match(JSON.stringify(of(events, "agent_retried")), /"message":"7 on \d{4}-\d\d-\d\d, not 1"/)
    assert.equal(asked.length, 2)
  })
})

for (const store of ["memory", "sqlite"]) {
  it(`requirements of a question refuse an answer with 422, and the question stays open: ${store}`, async () => {
    await questionRefusesAnswers(await startService({ STORE: store, DATA_DIR: join(directory, store) }))
  })
}

it("an expiry is not judged", async () => {
  const service = await startService()
  const source = `
ask soon { question: "?"  output { n: integer }  expires_seconds: 1  on_expiry: { n: 0 }  require result.n > 0 }
output { n: ask.soon.n }
`
  const response = await service.post("/execute", { workflow_source: source }, { accept: "text/event-stream" })
  const events = await allEvents(response)
  assert.deepEqual(of(events, "workflow_completed")[0]?.["output"], { result: { n: 0 } })
})
