import assert from "node:assert/strict"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, test } from "node:test"
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

  soakTest(
    "a run that failed is red until the workflow is changed; its source is written where there is no file",
    async (t) => {
      const server = await startServer((_request, response) => response.writeHead(400).end("{}"))
      t.after(() => server.close())
      const folder = folderWith({})
      const source = oneAgent(`${server.origin}/v1`)
      const run_id = await start(source, ada)
      const added = await wire(folder, "test", "add", run_id)
      assert.equal(added.code, 0, added.err)
      assert.match(readFileSync(join(folder, "run.test.wire"), "utf8"), /given agent\.reply fails provider_error "/)
      assert.equal((await wire(folder, "test")).code, 1)
      const fixed = source
        .replace("agent reply {", "agent reply {\n    on_failure: skip")
        .replace("agent.reply.message }", 'agent.reply?.message ?? "later" }')
      writeFileSync(join(folder, "run.wire"), fixed)
      const green = await wire(folder, "test")
      assert.equal(green.code, 0, green.out + green.err)
    },
  )
})
