import assert from "node:assert/strict"
import { mkdtempSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, describe, it } from "node:test"
import type { WorkflowAnswer, WorkflowsAnswer } from "../../../src/api/workflows.ts"
import type { Issue } from "../../../src/source/diagnostic.ts"
import { within } from "../../support/within.ts"
import { ada, errorOf, startService } from "./start-service.ts"

const library = `secrets { key: maybe string }
provider llm from openai { endpoint: "demo" api_key: secrets.key }
model fast from llm { id: "demo" }
`
const main = (path: string, text = "Greet"): string => `import { model.fast } from "${path}"
input { name: string }
agent reply { model: model.fast instruction: "${text} {{ input.name }}." output { message: string } }
output { message: agent.reply.message }
`

describe("modules of a request", async () => {
  const service = await startService()
  const body = {
    workflow_source: main("../lib/common.wire"),
    file: "flows/main.wire",
    modules: { "lib/common.wire": library },
    input: ada,
  }

  it("are imported by the source, and what comes along has the name of its file", async () => {
    const response = await service.post("/execute", body)
    assert.equal(response.status, 200)
    assert.equal(typeof ((await response.json()) as { message: unknown }).message, "string")
  })

  it("are part of the plan's cache and of the idempotency key's fingerprint", async () => {
    const broken = { ...body, modules: { "lib/common.wire": "model fast from nowhere { id: 1 }" } }
    const { status, issues } = await errorOf(await service.post("/execute", broken))
    assert.deepEqual([status, issues[0]?.code], [422, "invalid-import"])
    const headers = { "idempotency-key": "modules" }
    assert.equal((await service.post("/execute", body, headers)).status, 200)
    const other = { ...body, modules: { "lib/common.wire": `${library}// more\n` } }
    assert.equal((await service.post("/execute", other, headers)).status, 409)
  })

  it("are named by the places in them that belong to a finding", async () => {
    const called = `input { note: string }
mcp shop { endpoint: "https://shop.example.com" }
tool refund from mcp.shop.tool.refund { requires: trusted }
dynamic { loud: upper(input.note) }
output { v: call tool.refund { input { note: dynamic.loud } } }
`
    const source = `workflow refunds from "../lib/refunds.wire"
input { mail: untrusted string }
output { v: call workflow.refunds { input { note: input.mail } } }
`
    const modules = { "lib/refunds.wire": called }
    const response = await service.post("/validate", { workflow_source: source, file: "flows/main.wire", modules })
    const { issues } = (await response.json()) as { issues: readonly Issue[] }
    const places = issues[0]?.related?.map(({ message, file, range }) => [message, file, range.start.line])
    assert.deepEqual(places, [
      ["input.mail", undefined, 2],
      ["dynamic.loud", "lib/refunds.wire", 4],
      ["output.v", "lib/refunds.wire", 5],
    ])
  })

  it("stay as they were in a re-run that does not send them", async () => {
    const first = await service.post("/execute", body)
    const id = first.headers.get("x-service-run-id") ?? ""
    assert.equal((await service.post(`/execute/${id}/rerun`, {})).status, 200)
    const changed = await service.post(`/execute/${id}/rerun`, { modules: { "lib/common.wire": "" } })
    assert.equal((await errorOf(changed)).issues[0]?.code, "unknown-reference")
  })

  for (const [why, modules, file] of [
    ["an absolute path", { "/lib/common.wire": "" }, undefined],
    ["a path with ..", { "lib/../common.wire": "" }, undefined],
    ["a path with .", { "./common.wire": "" }, undefined],
    ["a backslash", { "lib\\common.wire": "" }, undefined],
    ["another extension", { "common.txt": "" }, undefined],
    ["an empty part", { "lib//common.wire": "" }, undefined],
    ["the main file", { "main.wire": "" }, undefined],
    ["a text that is none", { "a.wire": 1 }, undefined],
    ["too many", Object.fromEntries(Array.from({ length: 101 }, (_, index) => [`m${index}.wire`, ""])), undefined],
    [
      "too much",
      Object.fromEntries(Array.from({ length: 5 }, (_, i) => [`m${i}.wire`, " ".repeat(1_000_000)])),
      undefined,
    ],
    ["a main path that leaves the root", {}, "../main.wire"],
  ] as const) {
    it(`are refused with ${why}`, async () => {
      const sent = { ...body, modules, file: file ?? null }
      for (const path of ["/execute", "/validate"]) {
        const { status, kind, issues } = await errorOf(await service.post(path, sent))
        assert.deepEqual([path, status, kind], [path, 400, "invalid_request"])
        assert.match(issues[0]?.path ?? "", /^(?:modules|file)/)
      }
    })
  }
})

describe("workflows of a folder that use each other's files", async () => {
  const folder = mkdtempSync(join(tmpdir(), "wireworks-modules-"))
  after(() => rmSync(folder, { recursive: true, force: true }))
  const write = (name: string, text: string): void => writeFileSync(join(folder, name), text)
  write("common.wire", library)
  write("first.wire", main("./common.wire"))
  write("second.wire", main("./common.wire", "Welcome"))
  const service = await startService({ WORKFLOWS: folder })
  const list = async (): Promise<WorkflowsAnswer["workflows"]> =>
    ((await (await service.get("/workflows")).json()) as WorkflowsAnswer).workflows
  const named = async (name: string): Promise<WorkflowAnswer | undefined> =>
    (await list()).find((workflow) => workflow.name === name)
  const until = async (what: string, fits: () => Promise<boolean>): Promise<void> => {
    let late = false
    const look = async (): Promise<void> => {
      while (!late && !(await fits())) await new Promise((resolve) => setImmediate(resolve))
    }
    await within(30_000, what, look()).finally(() => (late = true))
  }
  const versions = async (): Promise<(string | null | undefined)[]> => [
    (await named("first"))?.version,
    (await named("second"))?.version,
  ]

  it("are served, and the library is not", async () => {
    assert.deepEqual(
      (await list()).map(({ name, valid }) => [name, valid]),
      [
        ["first", true],
        ["second", true],
      ],
    )
    assert.equal((await service.post("/workflows/first/execute", { input: ada })).status, 200)
  })

  it("reload together, all or none", async () => {
    const before = await versions()
    write("common.wire", `${library}// again\n`)
    await until("both are new", async () => (await versions()).every((version, index) => version !== before[index]))
    const served = await versions()
    // Only the second has an error after this.
    write("second.wire", main("./common.wire", "Hello").replace("model.fast }", "model.fast, schema.task }"))
    await until("the second has errors", async () => (await named("second"))?.valid === false)
    write("common.wire", `${library}// once more\n`)
    write("third.wire", main("./common.wire", "Third"))
    await until("the third is there", async () => (await named("third")) !== undefined)
    assert.equal((await service.post("/workflows/first/execute", { input: ada })).status, 200)
    assert.equal((await named("first"))?.version, served[0])
    write("common.wire", `${library}schema task { name: string }\n`)
    write("second.wire", main("./common.wire", "Hello {{ input.name }}"))
    await until("all are right", async () => (await list()).every(({ valid }) => valid))
    await until("the first has the new library", async () => (await named("first"))?.version !== served[0])
  })

  it("follow a file whose name hides it, which is not served", async () => {
    write("_own.wire", library)
    write("fifth.wire", main("./_own.wire"))
    await until("the fifth is there", async () => (await named("fifth"))?.valid === true)
    const before = (await named("fifth"))?.version
    write("_own.wire", `${library}// again\n`)
    await until("the fifth is new", async () => (await named("fifth"))?.version !== before)
    assert.equal((await service.post("/workflows/fifth/execute", { input: ada })).status, 200)
    assert.equal(await named("_own"), undefined)
    unlinkSync(join(folder, "_own.wire"))
    await until("the hidden file is gone", async () => (await named("fifth"))?.valid === false)
  })

  it("use no file beyond a link that leaves the folder, and keep serving when a file goes", async () => {
    const outside = mkdtempSync(join(tmpdir(), "wireworks-outside-"))
    after(() => rmSync(outside, { recursive: true, force: true }))
    writeFileSync(join(outside, "secret.wire"), library)
    symlinkSync(join(outside, "secret.wire"), join(folder, "linked.wire"))
    write("fourth.wire", main("./linked.wire"))
    await until("the fourth is there", async () => (await named("fourth")) !== undefined)
    const fourth = await named("fourth")
    assert.deepEqual([fourth?.valid, fourth?.issues[0]?.code], [false, "unknown-file"])
    unlinkSync(join(folder, "common.wire"))
    await until("the library is gone", async () => (await named("first"))?.valid === false)
    assert.equal((await service.post("/workflows/first/execute", { input: ada })).status, 200)
  })
})
