import assert from "node:assert/strict"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, test } from "node:test"
import { setTimeout } from "node:timers/promises"
import { startServer } from "../support/http-server.ts"
import { ada, hello, oneAgent, startService } from "../contract/http/start-service.ts"
import { folderWith, runWire, type Ended } from "./run-wire.ts"
import { soakTest } from "../support/strength.ts"

describe("wire test add", async () => {
  const service = await startService()
  const wire = (cwd: string, ...args: string[]): Promise<Ended> =>
    runWire(args, { cwd, env: { WIRE_URL: service.url } })
  const start = async (workflow_source: string, input = {}): Promise<string> => {
    const response = await service.post("/execute", { workflow_source, input })
    await response.arrayBuffer()
    return response.headers.get("x-service-run-id") ?? ""
  }

  test("a run that completed becomes a test that passes, and fails once the workflow gives another output", async () => {
    const folder = folderWith({ "hello.wire": hello })
    const run_id = await start(hello, { name: 'Ada "the first"\n{{ x }}' })
    const added = await wire(folder, "test", "add", run_id, "hello.wire")
    assert.equal(added.code, 0, added.err)
    assert.equal((JSON.parse(added.out) as { file: string }).file, "hello.test.wire")
    const passed = await wire(folder, "test", "hello.test.wire")
    assert.equal(passed.code, 0, passed.out + passed.err)
    writeFileSync(join(folder, "hello.wire"), hello.replace("agent.reply.message }", '"{{ agent.reply.message }}!" }'))
    assert.equal((await wire(folder, "test", "hello.test.wire")).code, 1)
    const again = await wire(folder, "test", "add", run_id, "hello.wire")
    assert.deepEqual([again.code, /already/.test(again.err)], [2, true])
  })

  test("what the steps, tools and people of called files gave is given by the path of the calls", async (t) => {
    const server = await startServer((_request, response) =>
      response.writeHead(200, { "content-type": "application/json" }).end('{"name":"Ada"}'),
    )
    t.after(() => server.close())
    const main = `input { id: string  again: string }
workflow shop from "./shop.wire" {}
ask review { question: "Outer?"  output { ok: boolean } }
output {
  first: call workflow.shop { input { id: input.id } }
  second: call workflow.shop { input { id: input.again } }
  ok: ask.review.ok
}
`
    const shop = `input { id: string }
api crm { endpoint: "${server.origin}" }
tool find from api.crm."GET /people/{id}" { input { id: string }  output { name: string } }
provider demo from openai { endpoint: "demo" }
model fast from demo { id: "demo" }
agent greet { model: model.fast  instruction: "Greet {{ input.id }}"  output { text: string } }
ask review { question: "Inner?"  output { ok: boolean } }
output { name: (call tool.find { input { id: input.id } }).name  text: agent.greet.text  ok: ask.review.ok }
`
    const run = async (again: string): Promise<string> => {
      const modules = { "shop.wire": shop }
      const input = { id: "a", again }
      const body = { workflow_source: main, modules, input }
      const response = await service.post("/execute", body, { accept: "text/event-stream" })
      await response.body?.cancel()
      const run_id = response.headers.get("x-service-run-id") ?? ""
      for (;;) {
        const { status } = (await (await service.get(`/execute/${run_id}`)).json()) as { status: string }
        if (status === "completed") return run_id
        const { questions } = (await (await service.get(`/execute/${run_id}/questions`)).json()) as {
          questions: { id: string; scope?: string; status: string }[]
        }
        for (const { id, scope } of questions.filter((one) => one.status === "open")) {
          await service.post(`/execute/${run_id}/questions/${id}`, { answer: { ok: scope === undefined } })
        }
        await setTimeout(20)
      }
    }
    const run_id = await run("a")
    const folder = folderWith({ "main.wire": main, "shop.wire": shop })
    const added = await wire(folder, "test", "add", run_id, "main.wire")
    assert.equal(added.code, 0, added.err)
    await server.close()
    const passed = await wire(folder, "test")
    assert.equal(passed.code, 0, passed.out + passed.err + readFileSync(join(folder, "main.test.wire"), "utf8"))
    const text = readFileSync(join(folder, "main.test.wire"), "utf8")
    for (const line of [
      "given ask.review: { ok: true }",
      "given workflow.shop.ask.review: { ok: false }",
      'given workflow.shop.tool.find: { name: "Ada" }',
      "given workflow.shop.agent.greet: { text: ",
    ]) {
      assert.ok(text.includes(line), `${line}\n${text}`)
    }
    const nowhere = await wire(folderWith({}), "test", "add", run_id)
    assert.deepEqual([nowhere.code, /files that are not here/.test(nowhere.err)], [2, true])
  })

  test("a run whose requirements rejected the last answer fails in the same way, until they accept it", async () => {
    const source = (requirement: string, loop = ""): string => `input { name: string }
provider demo from openai { endpoint: "demo" }
model fast from demo { id: "demo" }
agent greet${loop} { model: model.fast  instruction: "Greet {{ input.name }}"  output { text: string }
    require ${requirement} else "Too long." }
output { text: ${loop === "" ? "agent.greet.text" : "agent.greet.*.text"} }
`
    for (const [file, loop] of [
      ["one", ""],
      ["each", ' for word in ["a", "b"]'],
    ] as const) {
      const strict = source("length(result.text) < 3", loop)
      const folder = folderWith({ [`${file}.wire`]: strict })
      const run_id = await start(strict, { name: "Ada" })
      const added = await wire(folder, "test", "add", run_id, `${file}.wire`)
      assert.equal(added.code, 0, added.err)
      const same = await wire(folder, "test")
      assert.equal(same.code, 0, same.out + same.err)
      writeFileSync(join(folder, `${file}.wire`), source("length(result.text) < 300", loop))
      const text = readFileSync(join(folder, `${file}.test.wire`), "utf8")
      if (loop === "") {
        assert.match(text, /given agent\.greet: \{ text: "Hello, Ada\." \}/)
        const repaired = await wire(folder, "test")
        assert.deepEqual([repaired.code, /expected to fail/.test(repaired.out)], [1, true], repaired.out + repaired.err)
        continue
      }
      // Where not all items have an answer, the line with the failure goes with the repair, as its comment says.
      const line = /\n *\/\/ Remove the next line[^\n]*\n[^\n]*fails output_error[^\n]*/
      writeFileSync(join(folder, `${file}.test.wire`), text.replace(line, ""))
      const repaired = await wire(folder, "test")
      assert.equal(repaired.code, 1, text + repaired.out + repaired.err)
    }
  })

  soakTest(
    "a run that failed fails in the same way, until the workflow is changed; its source is written where there is no file",
    async (t) => {
      const server = await startServer((_request, response) => response.writeHead(400).end("{}"))
      t.after(() => server.close())
      const folder = folderWith({})
      const source = oneAgent(`${server.origin}/v1`)
      const run_id = await start(source, ada)
      const added = await wire(folder, "test", "add", run_id)
      assert.equal(added.code, 0, added.err)
      assert.match(readFileSync(join(folder, "run.test.wire"), "utf8"), /given agent\.reply fails provider_error "/)
      assert.match(
        readFileSync(join(folder, "run.test.wire"), "utf8"),
        /expect error\.issues\[0\]\.path contains "agent\.reply/,
      )
      assert.equal((await wire(folder, "test")).code, 0)
      const fixed = source
        .replace("agent reply {", "agent reply {\n    on_failure: skip")
        .replace("agent.reply.message }", 'agent.reply?.message ?? "later" }')
      writeFileSync(join(folder, "run.wire"), fixed)
      assert.equal((await wire(folder, "test")).code, 1)
    },
  )
})
