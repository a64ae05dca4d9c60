import assert from "node:assert/strict"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, describe, it } from "node:test"
import type { MoveAnswer } from "../../../src/api/versions.ts"
import type { Question } from "../../../src/log/events.ts"
import { folderOf } from "../../support/workflow-folder.ts"
import { allEvents, type SeenEvent } from "./read-stream.ts"
import { errorOf, startService, type TestService } from "./start-service.ts"

interface Parts {
  readonly draft?: string
  readonly aside?: string
  readonly ask?: string
  readonly rest?: string
  readonly output?: string
}

const askReview = 'ask review { question: "Publish {{ input.title }}?" output { publish: boolean } }'

/** A workflow whose runs wait for a review, when two agents have done their work. */
function workflow({
  draft = "Write about {{ input.title }}.",
  aside = 'agent aside { model: model.m instruction: "Say a word." output { word: string } }',
  ask = askReview,
  rest = "",
  output = "publish: ask.review.publish  text: agent.draft.text",
}: Parts = {}): string {
  return `input { title: string }
provider backend from openai { endpoint: "demo" }
model m from backend { id: "demo" }
agent draft { model: model.m instruction: "${draft}" output { text: string } }
${aside}
${ask}
${rest}
output { ${output} }
`
}

interface Waiting {
  readonly run_id: string
  readonly questions: readonly Question[]
}

const directory = mkdtempSync(join(tmpdir(), "wireworks-moving-"))
after(() => rmSync(directory, { recursive: true }))

function eventsOf(events: readonly SeenEvent[], type: string): SeenEvent[] {
  return events.filter((event) => event.type === type)
}

class Bench {
  readonly service: TestService
  readonly #folder: string

  private constructor(service: TestService, folder: string) {
    this.service = service
    this.#folder = folder
  }

  static async open(settings: Record<string, string>, text = workflow()): Promise<Bench> {
    const folder = folderOf({ "post.wire": text })
    return new Bench(await startService({ WORKFLOWS: folder, ...settings }), folder)
  }

  async version(): Promise<string> {
    const body = (await (await this.service.get("/workflows/post")).json()) as { readonly version: string }
    return body.version
  }

  /** Serves another file, and gives its version. */
  async change(text: string): Promise<string> {
    const before = await this.version()
    writeFileSync(join(this.#folder, "post.wire"), text)
    for (;;) {
      const now = await this.version()
      if (now !== before) return now
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }

  async start(more: object = {}): Promise<Waiting> {
    const response = await this.service.post("/workflows/post/execute", { input: { title: "Owls" }, ...more })
    assert.equal(response.status, 202)
    return (await response.json()) as Waiting
  }

  async move(body: object = {}): Promise<MoveAnswer> {
    const response = await this.service.post("/workflows/post/move", body)
    const answer = (await response.json()) as MoveAnswer
    assert.equal(response.status, 200, JSON.stringify(answer))
    return answer
  }

  async record(run_id: string, wait = ""): Promise<Record<string, unknown>> {
    return (await (await this.service.get(`/execute/${run_id}${wait}`)).json()) as Record<string, unknown>
  }

  async answer(run_id: string, id: string, answer: object): Promise<number> {
    return (await this.service.post(`/execute/${run_id}/questions/${id}`, { answer })).status
  }

  async open(run_id: string): Promise<readonly Question[]> {
    const body = (await (await this.service.get(`/execute/${run_id}/questions`)).json()) as {
      readonly questions: readonly Question[]
    }
    return body.questions.filter(({ status }) => status === "open")
  }

  /** The events of a run that has ended. */
  async events(run_id: string): Promise<SeenEvent[]> {
    return allEvents(await this.service.get(`/execute/${run_id}/events`))
  }
}

for (const store of ["memory", "sqlite"]) {
  describe(`moving runs that wait, store ${store}`, () => {
    const open = (text?: string): Promise<Bench> =>
      Bench.open({ STORE: store, DATA_DIR: mkdtempSync(join(directory, store)) }, text)

    it("moves a run whose question stays the same: it keeps its id, and what has completed is not called again", async () => {
      const bench = await open()
      const { run_id, questions } = await bench.start()
      const from = await bench.version()
      const rest = 'agent last { model: model.m instruction: "Say {{ ask.review.publish }}." output { word: string } }'
      const to = await bench.change(workflow({ rest, output: "word: agent.last.word  text: agent.draft.text" }))
      const dry = await bench.move({ dry_run: true })
      assert.deepEqual(dry, {
        moved: 1,
        asked_again: 0,
        stay: 0,
        runs: [{ run_id, outcome: "moves", because: [] }],
        next: null,
      })
      assert.equal((await bench.record(run_id))["version"], from)
      assert.deepEqual(await bench.move(), dry)
      const record = await bench.record(run_id)
      assert.deepEqual([record["status"], record["version"], record["moved_from"]], ["waiting", to, from])
      assert.deepEqual((await bench.move()).runs, [])
      assert.equal(await bench.answer(run_id, questions[0]?.id ?? "", { publish: true }), 200)
      const ended = await bench.record(run_id, "?wait=20")
      assert.equal(ended["status"], "completed", JSON.stringify(ended))
      assert.equal(ended["moved_from"], from)
      assert.deepEqual(Object.keys(ended["output"] as object), ["word", "text"])
      const events = await bench.events(run_id)
      const [moved] = eventsOf(events, "run_moved")
      assert.deepEqual(
        [moved?.data["from"], moved?.data["to"], moved?.data["reused"], moved?.data["outdated"]],
        [from, to, ["agent.draft", "agent.aside"], []],
      )
      const completed = eventsOf(events, "agent_completed").map(({ data }) => String(data["agent"]))
      assert.deepEqual(
        completed.toSorted((a, b) => a.localeCompare(b)),
        ["aside", "draft", "last"],
      )
      const at = events.findIndex(({ type }) => type === "run_moved")
      assert.deepEqual(
        events.slice(at, at + 4).map(({ type }) => type),
        ["run_moved", "workflow_planned", "run_waiting", "run_continued"],
      )
    })

    it("asks anew what has changed, withdraws what is gone, and keeps what fits", async () => {
      const bench = await open(
        workflow({ ask: `${askReview}\nask other { question: "Other?" output { x: boolean } }` }),
      )
      const { run_id, questions } = await bench.start()
      const idOf = (name: string, all = questions): string => all.find((one) => one.name === name)?.id ?? ""
      // A new field that may be null: the open question fits.
      await bench.change(
        workflow({
          ask: `${askReview.replace("boolean }", "boolean  note: maybe string }")}\nask other { question: "Another?" output { x: boolean } }`,
        }),
      )
      const first = await bench.move()
      assert.deepEqual([first.moved, first.asked_again, first.stay], [0, 1, 0], JSON.stringify(first))
      const open2 = await bench.open(run_id)
      assert.equal(idOf("review", open2), idOf("review"))
      assert.notEqual(idOf("other", open2), idOf("other"))
      assert.equal(open2.find(({ name }) => name === "other")?.question, "Another?")
      assert.equal(await bench.answer(run_id, idOf("other"), { x: true }), 409)
      await bench.change(workflow({ ask: askReview.replace("boolean }", "boolean  note: maybe string }") }))
      const second = await bench.move()
      assert.equal(second.asked_again, 1)
      assert.deepEqual(
        (await bench.open(run_id)).map(({ id }) => id),
        [idOf("review")],
      )
      assert.equal(await bench.answer(run_id, idOf("review"), { publish: true }), 200)
      const { status, output } = await bench.record(run_id, "?wait=20")
      assert.deepEqual([status, (output as { publish: boolean }).publish], ["completed", true])
      const types = (await bench.events(run_id)).map(({ type }) => type)
      assert.deepEqual(types.slice(types.indexOf("run_moved"), types.indexOf("run_moved") + 5), [
        "run_moved",
        "workflow_planned",
        "question_withdrawn",
        "question_asked",
        "run_waiting",
      ])
    })

    it("goes on where nothing is left to ask, and does new steps that need not wait", async () => {
      const bench = await open()
      const { run_id } = await bench.start()
      await bench.change(workflow({ ask: "", output: "text: agent.draft.text" }))
      assert.equal((await bench.move()).asked_again, 1)
      const ended = await bench.record(run_id, "?wait=20")
      assert.equal(ended["status"], "completed", JSON.stringify(ended))
      const other = await open()
      const { run_id: second, questions } = await other.start()
      const rest =
        'agent extra { model: model.m instruction: "More of {{ agent.draft.text }}." output { word: string } }'
      await other.change(workflow({ rest, output: "word: agent.extra.word  p: ask.review.publish" }))
      assert.equal((await other.move()).moved, 1)
      assert.equal(await other.answer(second, questions[0]?.id ?? "", { publish: false }), 200)
      assert.equal((await other.record(second, "?wait=20"))["status"], "completed")
      const names = eventsOf(await other.events(second), "agent_completed").map(({ data }) => String(data["agent"]))
      assert.deepEqual(
        names.toSorted((a, b) => a.localeCompare(b)),
        ["aside", "draft", "extra"],
      )
    })

    it("stays where a completed step has changed that something depends on; one that nothing needs is outdated", async () => {
      const bench = await open()
      const { run_id, questions } = await bench.start()
      await bench.change(workflow({ draft: "Write more about {{ input.title }}." }))
      const refused = await bench.move()
      assert.deepEqual(
        [refused.stay, refused.runs[0]?.because],
        [1, ["agent.draft has completed, and changed (instruction)"]],
      )
      await bench.change(workflow({ aside: "" }))
      const moved = await bench.move()
      assert.equal(moved.moved, 1, JSON.stringify(moved))
      assert.match(moved.runs[0]?.because[0] ?? "", /^agent\.aside is outdated/)
      assert.equal(await bench.answer(run_id, questions[0]?.id ?? "", { publish: true }), 200)
      assert.equal((await bench.record(run_id, "?wait=20"))["status"], "completed")
    })

    it("names runs: unknown ones are 404, one that began with `version` moves only by its name", async () => {
      const bench = await open()
      const version = await bench.version()
      const { run_id } = await bench.start({ version })
      await bench.change(workflow({ rest: "// new" }))
      assert.equal((await bench.move()).stay, 1)
      assert.equal((await bench.move({ run_ids: [run_id], dry_run: true })).moved, 1)
      const unknown = await errorOf(await bench.service.post("/workflows/post/move", { run_ids: [run_id, "no"] }))
      assert.deepEqual([unknown.status, unknown.issues[0]?.path], [404, "run_ids[1]"])
      assert.equal((await errorOf(await bench.service.post("/workflows/post/move", { to: "no" }))).status, 404)
      assert.equal((await errorOf(await bench.service.post("/workflows/no/move", {}))).status, 404)
      assert.equal((await errorOf(await bench.service.post("/workflows/post/move", { after: "x" }))).status, 400)
      assert.equal((await errorOf(await bench.service.post("/workflows/post/move", { other: 1 }))).status, 400)
      assert.equal((await bench.service.get("/workflows/post/move")).status, 405)
      assert.equal((await bench.move({ run_ids: [run_id] })).moved, 1)
      assert.equal((await bench.move({ run_ids: [run_id] })).stay, 1)
    })
  })
}
