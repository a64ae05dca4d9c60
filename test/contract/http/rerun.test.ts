import assert from "node:assert/strict"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, describe, it } from "node:test"
import type { TestContext } from "node:test"
import { fakeBackend, says } from "../../support/fake-backend.ts"
import { within } from "../../support/within.ts"
import { allEvents } from "./read-stream.ts"
import { errorOf, startService } from "./start-service.ts"

const folder = mkdtempSync(join(tmpdir(), "wireworks-rerun-"))
after(() => rmSync(folder, { recursive: true }))

/** Two agents in a row on a backend that counts what it is asked. */
async function workflow(t: TestContext, hold?: Promise<void>) {
  const { backend, asked } = await fakeBackend(t, () => (reply, raw) => {
    void (hold ?? Promise.resolve()).then(() => says('{"message":"hi"}')(reply, raw))
  })
  const source = (second = "Second"): string => `
input { name: string }
secrets { key: string }
provider p from openai { endpoint: "${backend.endpoint}"  api_key: secrets.key }
model m from p { id: "m" }
agent first { model: model.m  instruction: "First {{ input.name }}"  output { message: string } }
agent second { model: model.m  instruction: "${second} {{ agent.first.message }}"  output { message: string } }
output { message: agent.second.message }
`
  return { source, asked }
}

for (const [name, variables] of [
  ["memory", {}],
  ["sqlite", { STORE: "sqlite", DATA_DIR: folder }],
] as const) {
  describe(`re-runs over HTTP (${name})`, async () => {
    const service = await startService({ ...variables, API_KEYS: "ada:key-of-ada-123456,bob:key-of-bob-123456" })
    const ada = { authorization: "Bearer key-of-ada-123456" }
    const bob = { authorization: "Bearer key-of-bob-123456" }
    const secrets = { key: "k" }

    const execute = async (source: string): Promise<string> => {
      const body = { workflow_source: source, input: { name: "Ada" }, secrets }
      const response = await service.post("/execute", body, ada)
      assert.equal(response.status, 200, await response.clone().text())
      await response.json()
      return response.headers.get("x-service-run-id") ?? ""
    }
    const rerun = (run_id: string, body: object, headers: Record<string, string> = {}): Promise<Response> =>
      service.post(`/execute/${run_id}/rerun`, body, { ...ada, ...headers })

    it("takes over what did not change: what the body leaves out is as it was", async (t) => {
      const { source, asked } = await workflow(t)
      const run_id = await execute(source())
      assert.equal(asked.length, 2)
      const same = await rerun(run_id, { secrets })
      assert.deepEqual(await same.json(), { message: "hi" })
      assert.equal(asked.length, 2)
      const changed = await rerun(run_id, { secrets, workflow_source: source("Then") }, { accept: "text/event-stream" })
      const events = await allEvents(changed)
      assert.equal(asked.length, 3)
      const reused = events.filter(({ type }) => type === "step_reused")
      assert.deepEqual(
        reused.map(({ data }) => [data["step"], data["run_id"]]),
        [["agent.first", run_id]],
      )
      const base64 = Buffer.from(source("Later")).toString("base64")
      assert.equal((await rerun(run_id, { secrets, workflow_source_base64: base64 })).status, 200)
      assert.equal(asked.length, 4)
      const other = await rerun(run_id, { secrets, input: { name: "Bob" } })
      assert.equal(other.status, 200)
      // The first one gives the same answer to Bob: the second one need not run.
      assert.equal(asked.length, 5)
      const record = await service.get(`/execute/${same.headers.get("x-service-run-id")}`, ada)
      assert.equal(((await record.json()) as { rerun_of: string }).rerun_of, run_id)
      const plain = await service.get(`/execute/${run_id}`, ada)
      assert.equal(((await plain.json()) as { rerun_of: null }).rerun_of, null)
    })

    it("`from` forces steps; an unknown one is an input_error", async (t) => {
      const { source, asked } = await workflow(t)
      const run_id = await execute(source())
      assert.equal((await rerun(run_id, { secrets, from: ["agent.second"] })).status, 200)
      assert.equal(asked.length, 3)
      const error = await errorOf(await rerun(run_id, { secrets, from: ["agent.secnod"] }))
      assert.deepEqual([error.status, error.kind, error.issues[0]?.path], [422, "input_error", "from[0]"])
    })

    it("`given` has results in place of those of steps: what reads them runs again", async (t) => {
      const { source, asked } = await workflow(t)
      const run_id = await execute(source())
      const given = { "agent.first": { message: "something else" } }
      const stream = await rerun(run_id, { secrets, given }, { accept: "text/event-stream" })
      const events = await allEvents(stream)
      const reused = events.filter(({ type }) => type === "step_reused").map(({ data }) => data)
      assert.deepEqual(
        reused.map((data) => [data["step"], data["output"], data["given"]]),
        [["agent.first", { message: "something else" }, true]],
      )
      assert.equal(asked.length, 3)
      assert.match(JSON.stringify(asked[2]), /Second something else/)
      // A re-run of that one keeps the given result, and says that it is its own run's.
      const next = stream.headers.get("x-service-run-id") ?? ""
      const again = await allEvents(await rerun(next, { secrets }, { accept: "text/event-stream" }))
      assert.equal(asked.length, 3)
      assert.equal(again.filter(({ data }) => data["given"] === true).length, 0)
      // Even of a step that must run.
      assert.equal((await rerun(run_id, { secrets, given, from: ["agent.first"] })).status, 200)
      assert.equal(asked.length, 4)
    })

    it("`given` is refused for what is no step, of another type, or at another place", async (t) => {
      const { source, asked } = await workflow(t)
      const run_id = await execute(source())
      const looped = source()
        .replace("agent first {", "agent first for x in [1, 2] {")
        .replace("agent.first.message", "agent.first.*.message")
      const continued = source().replace("agent second {", "agent second { context: agent.first ")
      const refused = async (given: object, more: object = {}): Promise<(string | undefined)[]> => {
        const { status, kind, issues } = await errorOf(await rerun(run_id, { secrets, given, ...more }))
        return [`${status} ${kind}`, issues[0]?.path, issues[0]?.hint]
      }
      const message = { message: "a" }
      assert.deepEqual(await refused({ "agent.frist": message }), [
        "422 input_error",
        "given.agent.frist",
        "Did you mean agent.first?",
      ])
      assert.equal((await refused({ output: message }))[0], "422 input_error")
      assert.equal((await refused({ constructor: message }))[1], "given.constructor")
      assert.equal((await refused({ "agent.first": { message: 1 } }))[1], "given.agent.first.message")
      assert.equal((await refused({ "agent.first[0]": message }))[2], "Write agent.first.")
      assert.equal(
        (await refused({ "agent.first": message }, { workflow_source: looped }))[2],
        "Name an item, such as agent.first[0].",
      )
      assert.match(
        (await refused({ "agent.first": message }, { workflow_source: continued }))[2] ?? "",
        /^Give the output of agent\.second/,
      )
      assert.equal(asked.length, 2)
      const items = { "agent.first[1]": { message: "given" } }
      const both = await rerun(run_id, { secrets, given: items, workflow_source: looped })
      assert.equal(both.status, 200, await both.clone().text())
      assert.match(JSON.stringify(asked.at(-1)), /hi.{0,8}given/)
    })

    it("secrets are sent anew, and the answers are those of /execute", async (t) => {
      const { source } = await workflow(t)
      const run_id = await execute(source())
      assert.equal((await errorOf(await rerun(run_id, {}))).kind, "input_error")
      const broken = await errorOf(await rerun(run_id, { secrets, workflow_source: "output { a: agent.b }" }))
      assert.deepEqual([broken.status, broken.kind], [422, "validation_error"])
      const both = { secrets, workflow_source: source(), workflow_source_base64: "YQ==" }
      assert.equal((await errorOf(await rerun(run_id, both))).kind, "invalid_request")
      assert.equal((await errorOf(await rerun(run_id, { secrets, foo: 1 }))).kind, "invalid_request")
      const started = await rerun(run_id, { secrets }, { prefer: "respond-async" })
      assert.equal(started.status, 202)
    })

    it("404 for others' and unknown runs, 409 while the earlier run goes on", async (t) => {
      const answer = Promise.withResolvers<void>()
      const { source } = await workflow(t, answer.promise)
      const body = { workflow_source: source(), input: { name: "Ada" }, secrets }
      const started = await service.post("/execute", body, { ...ada, prefer: "respond-async" })
      const run_id = started.headers.get("x-service-run-id") ?? ""
      const early = await errorOf(await rerun(run_id, { secrets }))
      assert.deepEqual([early.status, early.kind], [409, "conflict"])
      answer.resolve()
      await within(30_000, "the end", service.get(`/execute/${run_id}?wait=10`, ada))
      assert.equal((await service.post(`/execute/${run_id}/rerun`, { secrets }, bob)).status, 404)
      assert.equal((await rerun("nowhere", { secrets })).status, 404)
      assert.equal((await rerun(run_id, { secrets })).status, 200)
    })

    it("an Idempotency-Key stands for the earlier run and `from`, too", async (t) => {
      const { source } = await workflow(t)
      const run_id = await execute(source())
      const key = { "idempotency-key": `rerun-${name}` }
      const first = await rerun(run_id, { secrets }, key)
      const second = await rerun(run_id, { secrets }, key)
      assert.equal(second.headers.get("idempotency-replayed"), "true")
      assert.equal(second.headers.get("x-service-run-id"), first.headers.get("x-service-run-id"))
      assert.equal((await rerun(run_id, { secrets, from: ["agent.first"] }, key)).status, 409)
      const other = await execute(source())
      assert.equal((await rerun(other, { secrets }, key)).status, 409)
    })

    it("answers of people are taken over, where the question and its type are the same", async () => {
      const source = (question: string): string =>
        `ask review { question: "${question}"  output { publish: boolean } }\noutput { publish: ask.review.publish }\n`
      const asked = await service.post("/execute", { workflow_source: source("Publish?") }, ada)
      assert.equal(asked.status, 202)
      const { run_id, questions } = (await asked.json()) as { run_id: string; questions: { id: string }[] }
      const answer = { answer: { publish: true } }
      assert.equal((await service.post(`/execute/${run_id}/questions/${questions[0]?.id}`, answer, ada)).status, 200)
      await within(30_000, "the end", service.get(`/execute/${run_id}?wait=20`, ada))
      const same = await rerun(run_id, {})
      assert.deepEqual([same.status, await same.json()], [200, { publish: true }])
      const other = await rerun(run_id, { workflow_source: source("Really publish?") })
      assert.equal(other.status, 202, "another question is asked")
      assert.equal((await rerun(run_id, { from: ["ask.review"] })).status, 202)
    })

    it("/validate says what a change from another version means", async () => {
      const before = `input { a: string }\noutput { a: input.a }`
      const after = `input { a: string  b: string }\noutput { a: input.a  c: input.b }`
      const compare = async (
        compare_with: object | null,
      ): Promise<{ status: number; body: Record<string, unknown> }> => {
        const response = await service.post("/validate", { workflow_source: after, compare_with }, ada)
        return { status: response.status, body: (await response.json()) as Record<string, unknown> }
      }
      const { body } = await compare({ workflow_source_base64: btoa(before) })
      const { contract, steps } = body["diff"] as { contract: object[]; steps: object }
      assert.deepEqual(contract, [
        { path: "input.b", change: "is new and required", breaking: true },
        { path: "output.c", change: "is new", breaking: false },
      ])
      assert.deepEqual(steps, {
        same: [],
        changed: [{ step: "output", properties: ["output"] }],
        after: [],
        new: [],
        gone: [],
      })
      assert.equal((await compare({ workflow_source: "output {" })).body["diff"], null)
      assert.equal("diff" in (await compare(null)).body, false)
      for (const wrong of [{}, { workflow_source: "x", workflow_source_base64: "eA==" }, { source: "x" }, "x"]) {
        assert.equal((await compare(wrong as object)).status, 400, JSON.stringify(wrong))
      }
    })

    it("/validate says of each node whether it would run", async (t) => {
      const { source } = await workflow(t)
      const run_id = await execute(source())
      const changes = async (body: object): Promise<unknown> => {
        const response = await service.post("/validate", { rerun_of: run_id, ...body }, ada)
        const { plan } = (await response.json()) as {
          plan: { nodes: { id: string; rerun: { status: string; why: string } }[] }
        }
        return plan.nodes.map(({ id, rerun: found }) => [id, found.status, found.why])
      }
      assert.deepEqual(await changes({ workflow_source: source() }), [
        ["agent.first", "same", ""],
        ["agent.second", "same", ""],
        ["output", "same", ""],
      ])
      assert.deepEqual(await changes({ workflow_source: source().replace("First", "1st") }), [
        ["agent.first", "changed", "Its text changed"],
        ["agent.second", "after", "It depends on agent.first"],
        ["output", "after", "It depends on agent.second"],
      ])
      assert.deepEqual(await changes({ workflow_source: source(), input: { name: "Bob" } }), [
        ["agent.first", "changed", "input.name changed"],
        ["agent.second", "after", "It depends on agent.first"],
        ["output", "after", "It depends on agent.second"],
      ])
      const other = source().replace('id: "m"', 'id: "m2"')
      assert.deepEqual(((await changes({ workflow_source: other })) as string[][])[0], [
        "agent.first",
        "changed",
        "Its model changed",
      ])
      const unknown = await service.post("/validate", { rerun_of: "nowhere", workflow_source: source() }, ada)
      assert.equal(unknown.status, 404)
    })
  })
}

describe("re-runs of runs that are gone", async () => {
  const service = await startService({ RETENTION: "1ms" })
  it("410 once retention has deleted the earlier run", async (t) => {
    const { source } = await workflow(t)
    const body = { workflow_source: source(), input: { name: "Ada" }, secrets: { key: "k" } }
    const run_id = (await service.post("/execute", body)).headers.get("x-service-run-id") ?? ""
    const deadline = Date.now() + 60_000
    let status = 0
    while (status !== 410 && Date.now() < deadline) {
      status = (await service.post(`/execute/${run_id}/rerun`, { secrets: { key: "k" } })).status
    }
    assert.equal(status, 410)
  })
})

describe("re-runs of the server's workflows", () => {
  it("the server's secrets go to a re-run only if it sends no source", async (t) => {
    const { source, asked } = await workflow(t)
    const flows = mkdtempSync(join(tmpdir(), "wireworks-flows-"))
    t.after(() => rmSync(flows, { recursive: true }))
    writeFileSync(join(flows, "greet.wire"), source())
    const file = join(flows, "secrets.json")
    writeFileSync(file, JSON.stringify({ all: { key: "server-side-key" } }), { mode: 0o600 })
    const service = await startService({ WORKFLOWS: flows, SECRETS_FILE: file })
    const first = await service.post("/workflows/greet/execute", { input: { name: "Ada" } })
    assert.equal(first.status, 200, await first.clone().text())
    const run_id = first.headers.get("x-service-run-id") ?? ""
    const again = await service.post(`/execute/${run_id}/rerun`, { from: ["agent.second"] })
    assert.equal(again.status, 200, await again.clone().text())
    assert.equal(asked.length, 3)
    const sent = await errorOf(await service.post(`/execute/${run_id}/rerun`, { workflow_source: source() }))
    assert.deepEqual([sent.kind, sent.issues[0]?.path], ["input_error", "secrets.key"])
  })
})
