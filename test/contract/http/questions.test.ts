import assert from "node:assert/strict"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, describe, it } from "node:test"
import type { Question } from "../../../src/log/events.ts"
import { within } from "../../support/within.ts"
import { allEvents, eventsOf, isEnd, type SeenEvent } from "./read-stream.ts"
import { errorOf, startService, type TestService } from "./start-service.ts"

const asking = (more = ""): string => `
input { title: string }
ask review {
    question: "Publish {{ input.title }}?"
    show: { title: input.title }
    expires_seconds: 3_600
    ${more}
    output { publish: boolean  note: maybe string }
}
output { publish: ask.review.publish  note: ask.review.note }
`

const approving = `
input { title: string }
mcp library { endpoint: "demo" }
tool reserve from mcp.library.tool.reserve { approval: required }
dynamic { done: call tool.reserve { input { title: input.title  reader: "Ada" } } }
output { done: dynamic.done }
`

interface Waiting {
  readonly run_id: string
  readonly status: string
  readonly questions: readonly Question[]
}

const title = "Owls"
const fits = { publish: true, note: null }

async function started(service: TestService, source: string, headers: Record<string, string> = {}): Promise<Waiting> {
  const response = await service.post("/execute", { workflow_source: source, input: { title } }, headers)
  const body = (await response.json()) as Waiting
  assert.equal(response.status, 202, JSON.stringify(body))
  assert.equal(response.headers.get("location"), `/execute/${body.run_id}`)
  assert.equal(response.headers.get("x-service-run-id"), body.run_id)
  return body
}

function onlyQuestion({ questions }: Waiting): Question {
  const [question, ...more] = questions
  assert.ok(question !== undefined && more.length === 0)
  return question
}

async function ended(service: TestService, run_id: string, headers: Record<string, string> = {}): Promise<unknown> {
  const record = (await (await service.get(`/execute/${run_id}?wait=20`, headers)).json()) as Record<string, unknown>
  assert.equal(record["status"], "completed", JSON.stringify(record))
  return record["output"]
}

const directory = mkdtempSync(join(tmpdir(), "wireworks-questions-"))
after(() => rmSync(directory, { recursive: true }))

for (const store of ["memory", "sqlite"]) {
  describe(`questions over HTTP, store ${store}`, async () => {
    const service = await startService({ STORE: store, DATA_DIR: join(directory, store) })
    const answer = (run_id: string, id: string, body: unknown) =>
      service.post(`/execute/${run_id}/questions/${id}`, body)

    it("answers 202 in JSON mode, shows the questions, takes the answer and goes on", async () => {
      const waiting = await started(service, asking())
      assert.deepEqual(Object.keys(waiting), ["run_id", "status", "batches", "waits", "questions"])
      assert.equal(waiting.status, "waiting")
      const { run_id } = waiting
      const question = onlyQuestion(waiting)
      assert.deepEqual(Object.keys(question).toSorted(), [
        "asked_at",
        "expires_at",
        "id",
        "kind",
        "name",
        "question",
        "run_id",
        "schema",
        "show",
        "status",
        "to",
      ])
      assert.equal(((await (await service.get(`/execute/${run_id}`)).json()) as Waiting).status, "waiting")
      const listed = (await (await service.get(`/execute/${run_id}/questions`)).json()) as Waiting
      assert.deepEqual(listed, { questions: [question], next: null })
      const inbox = (await (await service.get("/questions")).json()) as Waiting & { next: null }
      assert.ok(inbox.questions.some(({ id }) => id === question.id))
      assert.equal(inbox.next, null)

      const response = await answer(run_id, question.id, { answer: fits, by: "ann" })
      assert.equal(response.status, 200)
      const answered = (await response.json()) as Question
      const { answered_at, ...rest } = answered
      assert.deepEqual(rest, {
        ...question,
        status: "answered",
        answer: fits,
        answered_by: { caller: null, by: "ann" },
      })
      assert.ok(!Number.isNaN(Date.parse(answered_at ?? "")))
      assert.deepEqual(await ended(service, run_id), fits)
      // The same answer again, by somebody else, also after the end.
      const again = await answer(run_id, question.id, { answer: { note: null, publish: true }, by: "bob" })
      assert.equal(again.status, 200)
      assert.deepEqual(await again.json(), answered)
      const other = await errorOf(await answer(run_id, question.id, { answer: { publish: false, note: null } }))
      assert.deepEqual([other.status, other.kind], [409, "conflict"])
      assert.match(other.message, /already been answered/)
      const inAnswered = (await (await service.get("/questions?status=answered&limit=500")).json()) as Waiting
      assert.ok(inAnswered.questions.some(({ id }) => id === question.id))
    })

    it("a question that is too long for people fails the run", async () => {
      const source = asking().replace("Publish {{ input.title }}?", "{{ input.title }}{{ input.title }}")
      const input = { title: "x".repeat(150_000) }
      const error = await errorOf(await service.post("/execute", { workflow_source: source, input }))
      assert.deepEqual([error.kind, error.issues[0]?.path], ["limit_exceeded", "ask.review.question"])
    })

    it("replays the 202 of a run that waits", async () => {
      const key = { "idempotency-key": `replay-${store}` }
      const first = await started(service, asking(), key)
      assert.deepEqual(await started(service, asking(), key), first)
      await answer(first.run_id, onlyQuestion(first).id, { answer: fits })
      const response = await service.post("/execute", { workflow_source: asking(), input: { title } }, key)
      assert.deepEqual([response.status, await response.json()], [200, fits])
    })

    it("refuses what does not fit with its paths, and the question stays open", async () => {
      const waiting = await started(service, asking())
      const { id } = onlyQuestion(waiting)
      for (const [given, path] of [
        [{ publish: true, note: 5 }, "answer.note"],
        [{ publish: "yes", note: null }, "answer.publish"],
        [{ note: null }, "answer.publish"],
        [{ ...fits, more: 1 }, "answer.more"],
        [null, "answer"],
        ["yes", "answer"],
      ] as const) {
        const error = await errorOf(await answer(waiting.run_id, id, { answer: given }))
        assert.deepEqual([error.status, error.kind, error.issues[0]?.path], [422, "input_error", path])
      }
      const long = await errorOf(await answer(waiting.run_id, id, { answer: { ...fits, note: "x".repeat(300_000) } }))
      assert.deepEqual([long.status, long.kind, long.issues[0]?.path], [413, "payload_too_large", "answer"])
      const listed = (await (await service.get(`/execute/${waiting.run_id}/questions`)).json()) as Waiting
      assert.equal(onlyQuestion(listed).status, "open")
      for (const body of [
        {},
        { answer: fits, digest: 1 },
        { answer: fits, by: "x".repeat(201) },
        { answer: fits, x: 1 },
      ]) {
        const error = await errorOf(await answer(waiting.run_id, id, body))
        assert.deepEqual([error.status, error.kind], [400, "invalid_request"])
      }
      assert.equal((await answer(waiting.run_id, id, { answer: fits, by: "x".repeat(200) })).status, 200)
    })

    it("takes an answer without the fields that may be null, and the same one with them", async () => {
      const waiting = await started(service, asking())
      const { id } = onlyQuestion(waiting)
      const response = await answer(waiting.run_id, id, { answer: { publish: true } })
      assert.equal(response.status, 200)
      assert.deepEqual(((await response.json()) as Question).answer, fits)
      assert.equal((await answer(waiting.run_id, id, { answer: fits })).status, 200)
      assert.deepEqual(await ended(service, waiting.run_id), fits)
    })

    it("knows no question of another run, and none that never was", async () => {
      const [one, two] = [await started(service, asking()), await started(service, asking())]
      for (const [run_id, id] of [
        [one.run_id, onlyQuestion(two).id],
        [one.run_id, "nothing"],
        ["nothing", onlyQuestion(one).id],
      ] as const) {
        const error = await errorOf(await answer(run_id, id, { answer: fits }))
        assert.deepEqual([error.status, error.kind], [404, "not_found"])
      }
      assert.equal((await service.get("/execute/nothing/questions")).status, 404)
    })

    it("one of two answers at once wins, and the run goes on with it", async () => {
      const waiting = await started(service, asking())
      const { id } = onlyQuestion(waiting)
      const both = await Promise.all(
        ["a", "b"].map((note) => answer(waiting.run_id, id, { answer: { publish: true, note } })),
      )
      assert.deepEqual(
        both.map(({ status }) => status).toSorted((a, b) => a - b),
        [200, 409],
      )
      const won = both.findIndex(({ status }) => status === 200)
      assert.deepEqual(await ended(service, waiting.run_id), { publish: true, note: won === 0 ? "a" : "b" })
    })

    it("a run that is cancelled withdraws its question", async () => {
      const waiting = await started(service, asking())
      const { id } = onlyQuestion(waiting)
      const cancelled = await service.post(`/execute/${waiting.run_id}/cancel`, {})
      assert.equal(cancelled.status, 202)
      const record = (await (await service.get(`/execute/${waiting.run_id}?wait=20`)).json()) as Waiting
      assert.equal(record.status, "cancelled")
      const error = await errorOf(await answer(waiting.run_id, id, { answer: fits }))
      assert.deepEqual([error.status, error.kind], [409, "conflict"])
      assert.match(error.message, /withdrawn/)
    })

    it("a question that expires refuses answers, and the run takes on_expiry", async () => {
      const source = asking("on_expiry: { publish: false, note: null }").replace("3_600", "1")
      const waiting = await started(service, source)
      const events = await within(30_000, "the end", allEvents(await service.get(`/execute/${waiting.run_id}/events`)))
      assert.deepEqual(
        events.slice(3).map(({ type }) => type),
        ["run_waiting", "run_continued", "question_expired", "workflow_completed"],
      )
      assert.deepEqual(await ended(service, waiting.run_id), { publish: false, note: null })
      const error = await errorOf(await answer(waiting.run_id, onlyQuestion(waiting).id, { answer: fits }))
      assert.deepEqual([error.status, error.kind], [409, "conflict"])
      assert.match(error.message, /expired/)
    })

    it("checks the digest of an approval first, and then calls the tool as approved", async () => {
      const waiting = await started(service, approving)
      const { id, digest, arguments: shown, tool, server, name, kind } = onlyQuestion(waiting)
      assert.deepEqual(
        { shown, tool, server, name, kind },
        { shown: { title, reader: "Ada" }, tool: "reserve", server: "library", name: "reserve", kind: "approval" },
      )
      for (const wrong of [undefined, null, "sha256:0", `${digest} `]) {
        // Also before the answer is looked at.
        const error = await errorOf(await answer(waiting.run_id, id, { answer: "no", digest: wrong }))
        assert.deepEqual([error.status, error.kind], [409, "conflict"])
        assert.match(error.message, /digest/)
      }
      const misfit = await errorOf(await answer(waiting.run_id, id, { answer: { approve: 1, note: null }, digest }))
      assert.deepEqual([misfit.status, misfit.issues[0]?.path], [422, "answer.approve"])
      assert.equal((await answer(waiting.run_id, id, { answer: { approve: true, note: null }, digest })).status, 200)
      await ended(service, waiting.run_id)
    })

    it("a stream stays open while its run waits, and goes on with the answer", async () => {
      const response = await service.post(
        "/execute",
        { workflow_source: asking(), input: { title } },
        { accept: "text/event-stream" },
      )
      const seen: SeenEvent[] = []
      const run_id = response.headers.get("x-service-run-id") ?? ""
      const read = async (): Promise<void> => {
        for await (const event of eventsOf(response)) {
          seen.push(event)
          if (event.type === "run_waiting") {
            const [id] = event.data["questions"] as string[]
            assert.equal((await answer(run_id, id ?? "", { answer: fits })).status, 200)
          }
          if (isEnd(event)) return
        }
      }
      await within(30_000, "the end of the run", read())
      assert.deepEqual(
        seen.map(({ type }) => type),
        [
          "workflow_started",
          "workflow_planned",
          "question_asked",
          "run_waiting",
          "run_continued",
          "question_answered",
          "workflow_completed",
        ],
      )
      const [, , asked] = seen
      assert.equal(asked?.data["status"], undefined)
      assert.equal(asked?.data["run_id"], run_id)
    })
  })
}

describe("groups", async () => {
  const service = await startService({
    API_KEYS: "ann:k-ann,bob:k-bob,carol:k-carol",
    GROUPS: "editors:bob+carol,finance:ann",
  })
  const as = (name: string) => ({ authorization: `Bearer k-${name}` })
  const inbox = async (name: string, query = ""): Promise<string[]> => {
    const response = await service.get(`/questions${query}`, as(name))
    const { questions } = (await response.json()) as Waiting
    return questions.map(({ id }) => id)
  }
  const answer = (name: string, run_id: string, id: string) =>
    service.post(`/execute/${run_id}/questions/${id}`, { answer: fits, by: "x" }, as(name))

  it("members read the files that a question to them shows, while it is open", async () => {
    const source = `
input { contract: file  other: file }
ask review {
    question: "Sign?"
    show: { title: "Lease", papers: [input.contract] }
    to: "editors"
    output { publish: boolean  note: maybe string }
}
output { publish: ask.review.publish }
`
    const input = { contract: "data:text/plain;base64,YWJj", other: "data:text/plain;base64,eHl6" }
    const response = await service.post("/execute", { workflow_source: source, input }, as("ann"))
    const waiting = (await response.json()) as Waiting
    assert.equal(response.status, 202, JSON.stringify(waiting))
    const { id, show } = onlyQuestion(waiting)
    const { papers } = show as unknown as { papers: { file_id: string; bytes: number }[] }
    const shown = papers[0]?.file_id ?? assert.fail()
    const listed = await service.get(`/execute/${waiting.run_id}/files`, as("ann"))
    const { files } = (await listed.json()) as { files: { file_id: string }[] }
    const hidden = files.find(({ file_id }) => file_id !== shown)?.file_id ?? assert.fail()
    const read = async (name: string, file_id: string): Promise<number> =>
      (await service.get(`/files/${file_id}`, as(name))).status
    assert.equal(await (await service.get(`/files/${shown}`, as("bob"))).text(), "abc")
    assert.deepEqual([await read("ann", shown), await read("carol", shown), await read("bob", hidden)], [200, 200, 404])
    for (const path of [`/files/${shown}/meta`, `/v1/files/${shown}`, `/v1/files/${shown}/content`])
      assert.equal((await service.get(path, as("bob"))).status, 404, path)
    assert.equal((await answer("bob", waiting.run_id, id)).status, 200)
    assert.deepEqual([await read("ann", shown), await read("bob", shown)], [200, 404])
  })

  it("a question to a group is answered by its members alone", async () => {
    const waiting = await started(service, asking('to: "editors"'), as("ann"))
    const { id } = onlyQuestion(waiting)
    const { run_id } = waiting
    // The run's caller sees it, and is not a member.
    assert.equal((await service.get(`/execute/${run_id}/questions`, as("ann"))).status, 200)
    assert.deepEqual(await inbox("ann"), [])
    const refused = await errorOf(await answer("ann", run_id, id))
    assert.deepEqual([refused.status, refused.kind], [403, "forbidden"])
    assert.match(refused.message, /members of the group editors/)
    // Members see the question and not the run.
    assert.deepEqual(await inbox("bob"), [id])
    assert.deepEqual(await inbox("carol", "?to=editors"), [id])
    assert.deepEqual(await inbox("carol", "?to=finance"), [])
    assert.equal((await service.get(`/execute/${run_id}`, as("bob"))).status, 404)
    assert.equal((await service.get(`/execute/${run_id}/questions`, as("bob"))).status, 404)
    const response = await answer("bob", run_id, id)
    assert.equal(response.status, 200)
    assert.deepEqual(((await response.json()) as Question).answered_by, { caller: "bob", by: "x" })
    assert.deepEqual(await ended(service, run_id, as("ann")), fits)
    assert.deepEqual(await inbox("carol"), [])
  })

  it("any other question is answered by the run's caller", async () => {
    for (const more of ["", 'to: "somebody"']) {
      const waiting = await started(service, asking(more), as("bob"))
      const { id } = onlyQuestion(waiting)
      for (const name of ["ann", "carol"]) {
        assert.deepEqual(await inbox(name), [])
        assert.equal((await answer(name, waiting.run_id, id)).status, 404)
      }
      assert.deepEqual(await inbox("bob"), [id])
      assert.equal((await answer("bob", waiting.run_id, id)).status, 200)
    }
  })

  it("pages through the inbox, and refuses queries that make no sense", async () => {
    const ids: string[] = []
    for (let count = 0; count < 3; count++) ids.push(onlyQuestion(await started(service, asking(), as("carol"))).id)
    const found: string[] = []
    for (let after: string | null = ""; after !== null;) {
      const page = await service.get(`/questions?limit=2${after === "" ? "" : `&after=${after}`}`, as("carol"))
      const body = (await page.json()) as Waiting & { next: string | null }
      found.push(...body.questions.map(({ id }) => id))
      after = body.next
    }
    assert.deepEqual(found, ids)
    for (const query of ["limit=0", "limit=501", "status=closed", "x=1", "after=%20"]) {
      assert.equal((await service.get(`/questions?${query}`, as("carol"))).status, 400, query)
    }
    assert.equal((await service.get("/questions")).status, 401)
  })
})

it("past WIRE_MAX_WAITING a run that may wait is refused as overloaded", async () => {
  const service = await startService({ MAX_WAITING: "1" })
  await started(service, asking())
  const refused = await service.post("/execute", { workflow_source: asking(), input: { title } })
  const error = await errorOf(refused)
  assert.deepEqual([error.status, error.kind], [503, "overloaded"])
  const other = await service.post("/execute", { workflow_source: `output { a: 1 }` })
  assert.equal(other.status, 200)
})

it("without keys the inbox answers on loopback only", async () => {
  const service = await startService({ HOST: "0.0.0.0", ALLOWED_HOSTS: "127.0.0.1" })
  const url = service.url.replace("0.0.0.0", "127.0.0.1")
  const response = await fetch(`${url}/questions`)
  assert.equal(response.status, 401)
})
