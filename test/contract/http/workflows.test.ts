import assert from "node:assert/strict"
import { createHash } from "node:crypto"
import { chmodSync, readFileSync, symlinkSync } from "node:fs"
import { join } from "node:path"
import { describe, it } from "node:test"
import type { WorkflowDetail, WorkflowsAnswer } from "../../../src/api/workflows.ts"
import { createClient } from "../../support/built-client.ts"
import { folderOf } from "../../support/workflow-folder.ts"
import { allEvents } from "./read-stream.ts"
import { ada, errorOf, hello, startService } from "./start-service.ts"

const versionOf = (text: string | Uint8Array): string => createHash("sha256").update(text).digest("hex").slice(0, 12)
const described = `// Greets somebody.\n// Twice, if need be.\n${hello}`

describe("workflows with names", async () => {
  const outside = folderOf({ "secret.wire": hello, "deep/in.wire": hello })
  const folder = folderOf({
    "hello.wire": described,
    "tickets/triage.wire": hello,
    "tickets/execute.wire": hello,
    "execute/x.wire": hello,
    "odd name.wire": hello,
    "tickets/ünïcode.wire": hello,
    "_draft.wire": hello,
    "_drafts/a.wire": hello,
    "_lib/deep/words.wire": "schema word { text: string }\n",
    "_lib/odd name.wire": hello,
    "uses-hidden.wire": `import { schema.word } from "./_lib/deep/words.wire"
workflow draft from "./_draft.wire"
input { word: schema.word }
output { greeting: (call workflow.draft { input { name: input.word.text } }).message }
`,
    ".git/b.wire": hello,
    "hello.test.wire": hello,
    "notes.txt": "x",
    "types.wire": "schema task { title: string }\n",
    "empty.wire": "",
    "broken.wire": "agent {",
    "latin.wire": Buffer.from([0x2f, 0x2f, 0xe9, 0x0a]),
    "Case.wire": hello,
    "case.wire": hello,
    "a/b.wire": hello,
    "a_b.wire": hello,
  })
  symlinkSync(join(outside, "secret.wire"), join(folder, "leaves.wire"))
  symlinkSync(join(outside, "deep"), join(folder, "leaving"))
  symlinkSync(join(folder, "hello.wire"), join(folder, "inside.wire"))
  symlinkSync(folder, join(folder, "round"))
  symlinkSync(join(folder, "nowhere.wire"), join(folder, "dangling.wire"))
  const service = await startService({ WORKFLOWS: folder })
  const list = async (): Promise<WorkflowsAnswer["workflows"]> =>
    ((await (await service.get("/workflows")).json()) as WorkflowsAnswer).workflows
  const named = async (name: string) => (await list()).find((workflow) => workflow.name === name)

  it("import and call files in folders that begin with _, which are not served", async () => {
    const response = await service.post("/workflows/uses-hidden/execute", { input: { word: { text: "Ada" } } })
    const body = (await response.json()) as { greeting: string }
    assert.equal(response.status, 200, JSON.stringify(body))
    assert.match(body.greeting, /Ada/)
    assert.equal((await service.get("/workflows/_lib/deep/words")).status, 404)
  })

  it("are listed: those with names that are allowed, and, with their issues, those that are refused", async () => {
    const seen = Object.fromEntries((await list()).map(({ name, valid }) => [name, valid]))
    assert.deepEqual(seen, {
      Case: true,
      a_b: true,
      "a/b": true,
      broken: false,
      case: true,
      dangling: false,
      "execute/x": false,
      hello: true,
      inside: true,
      latin: false,
      leaves: false,
      leaving: false,
      "odd name": false,
      "tickets/execute": false,
      "tickets/triage": true,
      "tickets/ünïcode": false,
      "uses-hidden": true,
    })
  })

  it("show name, description, version, schemas and secrets", async () => {
    const workflow = await named("hello")
    assert.ok(workflow !== undefined)
    const { schemas, issues, ...rest } = workflow
    assert.deepEqual(rest, {
      name: "hello",
      description: "Greets somebody.\nTwice, if need be.",
      version: versionOf(described),
      valid: true,
      secrets: {},
    })
    assert.deepEqual(issues, [])
    assert.deepEqual(Object.keys(schemas ?? {}), ["input", "output"])
    assert.equal((await named("tickets/triage"))?.description, null)
  })

  it("are read by name, with source and plan", async () => {
    for (const path of ["/workflows/tickets/triage", "/workflows/tickets%2Ftriage"]) {
      const response = await service.get(path)
      assert.equal(response.status, 200)
      const detail = (await response.json()) as WorkflowDetail
      assert.equal(detail.name, "tickets/triage")
      assert.equal(detail.source, hello)
      assert.deepEqual(
        detail.plan?.nodes.map(({ id }) => id),
        ["agent.reply", "output"],
      )
    }
    assert.equal((await errorOf(await service.get("/workflows/nothing"))).message, "There is no workflow nothing")
    for (const wrong of ["ticket/triage", "tickets-triage", "triage"]) {
      const error = await errorOf(await service.post(`/workflows/${wrong}/execute`, { input: ada }))
      assert.deepEqual([error.status, error.kind], [404, "not_found"])
      assert.match(error.message, /^There is no workflow \S+\. Did you mean tickets\/triage\?$/)
    }
    // Nobody can call a workflow that is refused.
    assert.equal((await errorOf(await service.get("/workflows/leavess"))).message, "There is no workflow leavess")
    assert.equal((await errorOf(await service.get("/workflows/_draft"))).status, 404)
    assert.equal((await errorOf(await service.get("/workflows/types"))).status, 404)
  })

  it("are executed in all modes of /execute; the record names workflow and version", async () => {
    const path = "/workflows/tickets/triage/execute"
    const response = await service.post(path, { input: ada })
    assert.deepEqual(await response.json(), { message: "Hello, Ada." })
    const run_id = response.headers.get("x-service-run-id")
    const record = (await (await service.get(`/execute/${run_id}`)).json()) as Record<string, unknown>
    assert.deepEqual([record["workflow"], record["version"]], ["tickets/triage", versionOf(hello)])

    const events = await allEvents(await service.post(path, { input: ada }, { accept: "text/event-stream" }))
    assert.equal(events.at(-1)?.type, "workflow_completed")

    const accepted = await service.post(path, { input: ada }, { prefer: "respond-async" })
    assert.equal(accepted.status, 202)

    const sent = await service.post("/execute", { workflow_source: hello, input: ada })
    const other = (await (await service.get(`/execute/${sent.headers.get("x-service-run-id")}`)).json()) as Record<
      string,
      unknown
    >
    assert.deepEqual([other["workflow"], other["version"]], [null, null])
  })

  it("refuse what /execute refuses", async () => {
    const path = "/workflows/hello/execute"
    assert.deepEqual((await errorOf(await service.post(path, { input: {} }))).kind, "input_error")
    const unknown = await errorOf(await service.post(path, { inputs: ada }))
    assert.deepEqual([unknown.status, unknown.issues[0]?.hint], [400, "Did you mean `input`?"])
    assert.equal((await service.post(path, { workflow_source: hello, input: ada })).status, 400)
    assert.equal((await service.post(path, "")).status, 400)
    assert.equal((await service.post(path, { input: ada, secrets: { x: "y" } })).status, 422)
  })

  it("have idempotency keys: the fingerprint is name, input and options", async () => {
    const key = { "idempotency-key": "k1" }
    const first = await service.post("/workflows/hello/execute", { input: ada }, key)
    const again = await service.post("/workflows/hello/execute", { input: ada }, key)
    assert.equal(again.headers.get("idempotency-replayed"), "true")
    assert.equal(again.headers.get("x-service-run-id"), first.headers.get("x-service-run-id"))
    const conflicts = [
      ["/workflows/hello/execute", { input: { name: "Bob" } }],
      ["/workflows/hello/execute", { input: ada, options: { deltas: true } }],
      ["/workflows/tickets/triage/execute", { input: ada }],
      ["/execute", { workflow_source: described, input: ada }],
    ] as const
    for (const [path, body] of conflicts) assert.equal((await service.post(path, body, key)).status, 409, path)
  })

  it("stream to a typed client, up to the output in its own type", async () => {
    interface Flows {
      readonly hello: { readonly input: { name: string }; readonly output: { message: string } }
    }
    const stream = createClient<Flows>({ baseUrl: service.url }).workflow("hello").stream(ada)
    let message: string | undefined
    for await (const event of stream) {
      if (event.type === "workflow_completed") ({ message } = event.data.output.result)
      // @ts-expect-error: the output has no such field
      if (event.type === "workflow_completed") assert.equal(event.data.output.result.massage, undefined)
    }
    assert.equal(message, "Hello, Ada.")
  })

  it("that are refused or absent are 404, broken ones 422 with their issues", async () => {
    for (const name of ["nothing", "_draft", "odd%20name", "tickets/execute", "execute/x", "leaves", "types"]) {
      const error = await errorOf(await service.post(`/workflows/${name}/execute`, { input: ada }))
      assert.deepEqual([name, error.status, error.kind], [name, 404, "not_found"])
    }
    for (const name of ["broken", "latin"]) {
      const error = await errorOf(await service.post(`/workflows/${name}/execute`, { input: ada }))
      assert.deepEqual([name, error.status, error.kind], [name, 422, "validation_error"])
      assert.ok(error.issues.length > 0)
    }
  })

  it("say what is wrong with each file", async () => {
    const message = async (name: string): Promise<string> => {
      const found = (await named(name))?.issues ?? []
      return found.map(({ code, message: text }) => `${code}: ${text}`).join("; ")
    }
    assert.match(await message("odd name"), /^workflow-name: .*"odd name"/)
    assert.match(await message("tickets/execute"), /^workflow-name: .*"execute"/)
    assert.match(await message("leaves"), /^workflow-link: The link points outside the folder/)
    assert.match(await message("leaving"), /^workflow-link: The link points outside the folder/)
    assert.match(await message("dangling"), /^workflow-link: The link points to a file that does not exist/)
    assert.match(await message("latin"), /^workflow-encoding: The file is not valid UTF-8/)
    assert.match(await message("broken"), /^syntax-error/)
    for (const name of ["Case", "case"]) assert.match(await message(name), /^workflow-name-case: .*Case and case/)
    for (const name of ["a/b", "a_b"]) assert.match(await message(name), /^workflow-tool-name: a\/b and a_b/)
  })

  it("take their methods alone", async () => {
    const post = await service.get("/workflows/hello/execute")
    assert.deepEqual([post.status, post.headers.get("allow")], [405, "POST"])
    const get = await service.post("/workflows/hello", {})
    assert.deepEqual([get.status, get.headers.get("allow")], [405, "GET, HEAD"])
    assert.equal((await service.post("/workflows", {})).status, 405)
  })
})

describe("without a folder", async () => {
  const service = await startService()

  it("there are no workflows", async () => {
    assert.deepEqual(await (await service.get("/workflows")).json(), { workflows: [], next: null })
    assert.equal((await service.get("/workflows/hello")).status, 404)
    assert.equal((await service.post("/workflows/hello/execute", {})).status, 404)
  })
})

describe("a folder that cannot be served", () => {
  it("stops the start, with its name", async () => {
    await assert.rejects(startService({ WORKFLOWS: "/nowhere/at/all" }), /WIRE_WORKFLOWS is "\/nowhere\/at\/all"/)
  })

  it("a secrets file with another mode stops the start, with its name", async () => {
    const folder = folderOf({ "secrets.json": "{}" })
    const file = join(folder, "secrets.json")
    for (const mode of [0o644, 0o640, 0o400, 0o700]) {
      chmodSync(file, mode)
      await assert.rejects(
        startService({ SECRETS_FILE: file }),
        new RegExp(`secrets.json": its mode is 0${mode.toString(8)}`),
      )
    }
    chmodSync(file, 0o600)
    await (await startService({ SECRETS_FILE: file })).stop()
  })
})

describe("the examples of the repository", async () => {
  const service = await startService({ WORKFLOWS: join(import.meta.dirname, "../../../examples") })

  it("can be served as a folder: each is valid, and runs with its own input", async () => {
    const { workflows } = (await (await service.get("/workflows")).json()) as WorkflowsAnswer
    assert.ok(workflows.length >= 10)
    assert.deepEqual(
      workflows.filter(({ valid }) => !valid).map(({ name }) => name),
      [],
    )
    const input = JSON.parse(
      readFileSync(join(import.meta.dirname, "../../../examples/hello.input.json"), "utf8"),
    ) as unknown
    const response = await service.post("/workflows/hello/execute", { input })
    assert.equal(response.status, 200)
  })
})
