import assert from "node:assert/strict"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, describe, it } from "node:test"
import { tinyMcp } from "../../support/tiny-mcp.ts"
import { heldAgent, hello, startService, type TestService } from "./start-service.ts"

// Named workflows as MCP tools with the Tasks extension (SEP-2663), as a client of revision 2026-07-28 speaks it.

const tasks = "io.modelcontextprotocol/tasks"

interface Answer {
  readonly status: number
  readonly result?: Record<string, unknown> & Task
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown }
}

/** What `tasks/get` says. */
interface Task {
  readonly result?: { readonly isError?: boolean; readonly structuredContent?: unknown }
  readonly inputRequests?: Readonly<Record<string, object>>
}

interface Caller {
  readonly key?: string
  readonly capabilities?: unknown
}

const usual = { extensions: { [tasks]: {} }, elicitation: {} }

async function rpc(
  service: TestService,
  method: string,
  params: Record<string, unknown>,
  { key = "a-key", capabilities = usual }: Caller = {},
): Promise<Answer> {
  const name = params["name"] ?? params["taskId"]
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": capabilities,
  }
  const headers = {
    accept: "application/json, text/event-stream",
    authorization: `Bearer ${key}`,
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": method,
    ...(typeof name === "string" && { "mcp-name": name }),
  }
  const body = { jsonrpc: "2.0", id: 1, method, params: { ...params, _meta } }
  const response = await service.post("/mcp", body, headers)
  const text = await response.text()
  const json = text.startsWith("{") ? text : (text.match(/^data: (\{.*\})$/m)?.[1] ?? "{}")
  return { status: response.status, ...(JSON.parse(json) as object) }
}

const folder = mkdtempSync(join(tmpdir(), "wireworks-tasks-"))
after(() => rmSync(folder, { recursive: true, force: true }))

describe("the tasks of /mcp", async () => {
  const held = await heldAgent()
  const bank = await tinyMcp({ pay: () => ({ content: [], structuredContent: { ok: true } }) })
  const files = {
    "hello.wire": hello,
    "held.wire": held.source,
    "review.wire": `input { title: string }
ask review { question: "Publish {{ input.title }}?" output { publish: boolean  note: maybe string  mood: enum { good, bad } } }
output { publish: ask.review.publish  note: ask.review.note  mood: ask.review.mood }`,
    "two.wire": `ask one { question: "One?" output { yes: boolean } }
ask two { question: "Two?" output { yes: boolean } }
output { one: ask.one.yes  two: ask.two.yes }`,
    "deep.wire": `ask deep { question: "Deep?" output { rows: [string] } } output { rows: ask.deep.rows }`,
    "pay.wire": `mcp bank { endpoint: "${bank.url}" }
tool pay from mcp.bank.tool.pay { input { } output { ok: boolean } approval: required }
dynamic { done: call tool.pay }
output { ok: dynamic.done.ok }`,
    "wrong.wire": `ask go { question: "Go?" output { go: boolean } }
output { text: match ask.go.go { true: [1][2] ?? "none"  false: "no" }  bad: 1 / (match ask.go.go { true: 0  false: 1 }) }`,
  }
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  const service = await startService({ WORKFLOWS: folder, API_KEYS: "ann:a-key,bob:b-key" })
  const call = (name: string, input: unknown = {}, caller?: Caller) =>
    rpc(service, "tools/call", { name, arguments: input }, caller)
  const get = (taskId: unknown, caller?: Caller) => rpc(service, "tasks/get", { taskId }, caller)
  const update = (taskId: unknown, inputResponses: unknown, caller?: Caller) =>
    rpc(service, "tasks/update", { taskId, inputResponses }, caller)
  /** The task once its run has ended, or waits for people. */
  const waiting = async (taskId: unknown) => {
    await service.get(`/execute/${String(taskId)}?wait=20`, { authorization: "Bearer a-key" })
    return get(taskId)
  }
  const until = async (taskId: unknown, status: string) => {
    const { result } = await waiting(taskId)
    assert.equal(result?.["status"], status, JSON.stringify(result))
    return result
  }

  it("are announced as an extension", async () => {
    const { result } = await rpc(service, "server/discover", {})
    assert.deepEqual(result?.["capabilities"], { tools: {}, extensions: { [tasks]: {} } })
  })

  it("a run that ends soon is answered with its result, and so is every run of a client without tasks", async () => {
    const { result } = await call("hello", { name: "Ada" })
    assert.equal(result?.["resultType"], "complete")
    assert.deepEqual(result["structuredContent"], { message: "Hello, Ada." })
    assert.ok(!("taskId" in result))
    const plain = await call("review", { title: "Owls" }, { capabilities: {} })
    assert.match(JSON.stringify(plain.result?.["structuredContent"]), /"status":"waiting"/)
    assert.equal(plain.result?.["resultType"], "complete")
  })

  it("a run that takes longer is a task: it works, completes and is the caller's alone", async () => {
    const { result: task } = await call("held", { name: "Ada" })
    assert.equal(task?.["resultType"], "task", JSON.stringify(task))
    assert.equal(task["status"], "working")
    assert.match(String(task["statusMessage"]), /0 of 2 steps are done\. Running agent\./)
    assert.match(String(task["createdAt"]), /^\d{4}-\d\d-\d\dT/)
    assert.match(String(task["lastUpdatedAt"]), /^\d{4}-\d\d-\d\dT/)
    assert.equal(task["ttlMs"], null)
    for (const absent of ["result", "error", "inputRequests", "task"]) assert.ok(!(absent in task), absent)
    const { taskId } = task
    const record = await service.get(`/execute/${String(taskId)}`, { authorization: "Bearer a-key" })
    assert.equal(record.status, 200, "its id is the run's")
    for (const method of ["tasks/get", "tasks/cancel", "tasks/update"]) {
      const params = { taskId, inputResponses: {} }
      assert.equal((await rpc(service, method, params, { key: "b-key" })).error?.code, -32_602)
      assert.equal((await rpc(service, method, { ...params, taskId: "unknown" })).error?.code, -32_602)
      const without = await rpc(service, method, params, { capabilities: {} })
      assert.equal(without.error?.code, -32_021)
      assert.deepEqual(without.error.data, { requiredCapabilities: { extensions: { [tasks]: {} } } })
    }
    for (const method of ["tasks/list", "tasks/result"]) {
      assert.equal((await rpc(service, method, { taskId })).error?.code, -32_601)
    }
    held.release()
    const done = await until(taskId, "completed")
    assert.equal(done?.result?.isError, undefined)
    assert.equal(typeof done?.result?.structuredContent, "object")
    assert.equal(done?.["resultType"], "complete")
    assert.deepEqual(
      (await rpc(service, "tasks/cancel", { taskId })).error,
      undefined,
      "an ended task may be cancelled",
    )
  })

  it("a question of one level is a form, which `tasks/update` answers", async () => {
    const { result: task } = await call("review", { title: "Owls" })
    const { taskId } = task ?? {}
    assert.equal(task?.["resultType"], "task")
    const { result: asked } = await waiting(taskId)
    assert.equal(asked?.["status"], "input_required")
    const [[id, request] = ["", {}]] = Object.entries(asked.inputRequests ?? {})
    assert.deepEqual(request, {
      method: "elicitation/create",
      params: {
        mode: "form",
        message: "Publish Owls?",
        requestedSchema: {
          type: "object",
          properties: {
            publish: { type: "boolean" },
            note: { type: "string" },
            mood: { type: "string", enum: ["good", "bad"] },
          },
          required: ["publish", "mood"],
        },
      },
    })
    const { result: noForms } = await get(taskId, { capabilities: { extensions: { [tasks]: {} } } })
    assert.equal(noForms?.["status"], "working")
    assert.ok(String(noForms["statusMessage"]).includes(`/execute/${String(taskId)}/questions`))
    const misfit = await update(taskId, { [id]: { action: "accept", content: { publish: "yes", mood: "good" } } })
    assert.equal(misfit.error?.code, -32_602)
    assert.equal((await update(taskId, { [id]: { action: "decline" }, other: { action: "accept" } })).error, undefined)
    assert.equal((await get(taskId)).result?.["status"], "input_required", "a declined ask stays open")
    const ack = await update(taskId, { [id]: { action: "accept", content: { publish: true, mood: "good" } } })
    assert.deepEqual(Object.keys(ack.result ?? {}).toSorted(), ["_meta", "resultType"])
    const done = await until(taskId, "completed")
    assert.deepEqual(done?.result?.structuredContent, {
      publish: true,
      note: null,
      mood: "good",
    })
  })

  it("two questions may be answered one after the other", async () => {
    const { taskId } = (await call("two")).result ?? {}
    const keys = async () => Object.keys((await get(taskId)).result?.inputRequests ?? {})
    await waiting(taskId)
    const [first = "", second = ""] = await keys()
    await update(taskId, { [first]: { action: "accept", content: { yes: true } } })
    assert.deepEqual(await keys(), [second])
    await update(taskId, { [second]: { action: "accept", content: { yes: false } } })
    await until(taskId, "completed")
  })

  it("other questions and approvals stay where people answer them, and no task answers an approval", async () => {
    for (const name of ["deep", "pay"]) {
      const { taskId } = (await call(name)).result ?? {}
      const { result } = await waiting(taskId)
      assert.equal(result?.["status"], "working", name)
      assert.ok(String(result["statusMessage"]).includes(`A question waits: /execute/${String(taskId)}/questions`))
      const listed = await service.get(`/execute/${String(taskId)}/questions`, { authorization: "Bearer a-key" })
      const { questions } = (await listed.json()) as { questions: { id: string }[] }
      const given = { [questions[0]?.id ?? ""]: { action: "accept", content: { approve: true } } }
      assert.equal((await update(taskId, given)).error, undefined)
      assert.equal((await get(taskId)).result?.["status"], "working")
      assert.equal((await rpc(service, "tasks/cancel", { taskId })).error, undefined)
      await until(taskId, "cancelled")
    }
  })

  it("a run that fails is a completed task with an error", async () => {
    const { taskId } = (await call("wrong")).result ?? {}
    const [id = ""] = Object.keys((await waiting(taskId)).result?.inputRequests ?? {})
    await update(taskId, { [id]: { action: "accept", content: { go: true } } })
    const done = await until(taskId, "completed")
    assert.equal(done?.result?.isError, true)
  })
})
