import assert from "node:assert/strict"
import { EventEmitter, once } from "node:events"
import { chmodSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, describe, it } from "node:test"
import type { WorkflowDetail, WorkflowsAnswer } from "../../../src/api/workflows.ts"
import type { JsonObject } from "../../../src/base/json-value.ts"
import { canary, CanaryWatch } from "../../support/canaries.ts"
import { messageItem, response as answerOf } from "../../support/fake-backend.ts"
import { startServer } from "../../support/http-server.ts"
import { tinyMcp } from "../../support/tiny-mcp.ts"
import { within } from "../../support/within.ts"
import { allEvents } from "./read-stream.ts"
import { ada, errorOf, startService } from "./start-service.ts"

function folderOf(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), "wireworks-secrets-"))
  after(() => rmSync(folder, { recursive: true, force: true }))
  for (const [path, content] of Object.entries(files)) writeFileSync(join(folder, path), content)
  return folder
}

function secretsFile(content: JsonObject): string {
  const file = join(folderOf({}), "secrets.json")
  writeFileSync(file, JSON.stringify(content), { mode: 0o600 })
  chmodSync(file, 0o600)
  return file
}

/** A model backend that tells with which key it was asked. */
async function keyBackend() {
  const keys: (string | undefined)[] = []
  const calls = new EventEmitter()
  let hold: Promise<void> | null = null
  const server = await startServer((request, response) => {
    keys.push(request.headers.authorization?.replace("Bearer ", ""))
    calls.emit("call")
    const send = (): void => {
      response.writeHead(200, { "content-type": "application/json" })
      response.end(JSON.stringify(answerOf([messageItem('{"message":"fine"}')])))
    }
    if (hold === null) send()
    else void hold.then(send)
  })
  after(() => server.close())
  return {
    keys,
    endpoint: `${server.origin}/v1`,
    called: async (): Promise<void> => {
      if (keys.length === 0) await once(calls, "call")
    },
    holdUntil: (promise: Promise<void> | null) => {
      hold = promise
    },
  }
}

function withKey(endpoint: string, provider = "", more = ""): string {
  return `
input { name: string }
secrets { api_key: string }
provider backend from openai { endpoint: ${endpoint} api_key: secrets.api_key ${provider} inference { max_retries: 0 } }
model m from backend { id: "m" }
${more}
agent reply { model: model.m instruction: "Greet {{ input.name }}." output { message: string } }
output { message: agent.reply.message }
`
}

describe("secrets of the server", async () => {
  const backend = await keyBackend()
  const source = withKey(`"${backend.endpoint}"`)
  const folder = folderOf({
    "own.wire": source,
    "shared.wire": source,
    "other.wire": source.replaceAll("api_key: string", "api_key: string\n  token: string"),
  })
  const file = secretsFile({
    all: { api_key: "from-all" },
    workflows: { own: { api_key: "from-own" }, other: { api_key: "of-other" } },
  })
  const service = await startService({ WORKFLOWS: folder, SECRETS_FILE: file, SECRET_API_KEY: "from-variable" })
  const bare = await startService({ WORKFLOWS: folder, SECRET_API_KEY: "from-variable" })

  const keyOf = async (run: () => Promise<Response>): Promise<string | undefined> => {
    backend.keys.length = 0
    const response = await run()
    assert.equal(response.status, 200, await response.clone().text())
    return backend.keys[0]
  }

  it("come in order: the request's, the workflow's own, those of all, variables", async () => {
    const body = { input: ada }
    const sent = { input: ada, secrets: { api_key: "from-request" } }
    assert.equal(await keyOf(() => service.post("/workflows/own/execute", sent)), "from-request")
    assert.equal(await keyOf(() => service.post("/workflows/own/execute", body)), "from-own")
    assert.equal(await keyOf(() => service.post("/workflows/shared/execute", body)), "from-all")
    assert.equal(await keyOf(() => bare.post("/workflows/own/execute", body)), "from-variable")
  })

  it("are never given to source that a caller sent, whatever it declares", async () => {
    const error = await errorOf(await service.post("/execute", { workflow_source: source, input: ada }))
    assert.deepEqual([error.status, error.kind, error.issues[0]?.path], [422, "input_error", "secrets.api_key"])
  })

  it("that are missing are an input_error that names them, and are shown in the list", async () => {
    const error = await errorOf(await service.post("/workflows/other/execute", { input: ada }))
    assert.deepEqual([error.status, error.kind, error.issues[0]?.path], [422, "input_error", "secrets.token"])
    const detail = (await (await service.get("/workflows/other")).json()) as WorkflowDetail
    assert.deepEqual(detail.secrets, { api_key: "set", token: "missing" })
    assert.equal(detail.valid, true)
  })

  it("are read again when the file changes, and kept while it is wrong", async () => {
    const changed = secretsFile({ all: { api_key: "rotated" } })
    renameSync(changed, file)
    assert.equal(await keyOf(() => service.post("/workflows/own/execute", { input: ada })), "rotated")
    chmodSync(file, 0o644)
    assert.equal(await keyOf(() => service.post("/workflows/own/execute", { input: ada })), "rotated")
    chmodSync(file, 0o600)
  })
})

describe("a service with secrets", () => {
  it("does not start beyond loopback without keys", async () => {
    const file = secretsFile({ all: { a: "b" } })
    await assert.rejects(startService({ HOST: "0.0.0.0", SECRETS_FILE: file }), /WIRE_API_KEYS/)
    await assert.rejects(startService({ HOST: "0.0.0.0", SECRET_A: "b" }), /WIRE_API_KEYS/)
    const keyed = await startService({ HOST: "0.0.0.0", SECRET_A: "b", API_KEYS: "ann:key" })
    await keyed.stop()
  })

  it("does not start with a file that is not what it should be, and never quotes it", async () => {
    for (const text of [
      "{ secret-value",
      "[1]",
      '{"secret-value": {}}',
      '{"all": 1}',
      '{"workflows": {"a": "secret"}}',
    ]) {
      const file = secretsFile({})
      writeFileSync(file, text)
      await assert.rejects(startService({ SECRETS_FILE: file }), (error: Error) => {
        assert.match(error.message, /^WIRE_SECRETS_FILE is ".*secrets.json"/)
        return true
      })
    }
    await assert.rejects(startService({ SECRETS_FILE: "/nowhere/secrets.json" }), /cannot be read \(ENOENT\)/)
  })
})

describe("a run of a workflow with a name", async () => {
  const backend = await keyBackend()
  const data = mkdtempSync(join(tmpdir(), "wireworks-named-data-"))
  after(() => rmSync(data, { recursive: true, force: true }))
  const source = withKey(`"${backend.endpoint}"`)
  const folder = folderOf({ "flow.wire": source })
  const file = secretsFile({ all: { api_key: "first-key-of-the-server" } })
  const variables = { WORKFLOWS: folder, SECRETS_FILE: file, STORE: "sqlite", DATA_DIR: data }

  it("is resumed with the source that it began with, and with the secrets of that moment, which are never stored", async () => {
    const { promise: released, resolve: release } = Promise.withResolvers<void>()
    backend.holdUntil(released)
    const first = await startService(variables)
    const asked = await first.post("/workflows/flow/execute", { input: ada }, { prefer: "respond-async" })
    const { run_id } = (await asked.json()) as { run_id: string }
    await within(30_000, "the call", backend.called())
    await first.stop()
    assert.deepEqual(backend.keys, ["first-key-of-the-server"])
    const watch = new CanaryWatch([{ name: "server's key", value: "first-key-of-the-server" }])
    for (const entry of readdirSync(data, { withFileTypes: true })) {
      if (entry.isFile()) watch.search(entry.name, readFileSync(join(data, entry.name)))
    }
    assert.deepEqual(watch.found, [])

    backend.holdUntil(null)
    release()
    writeFileSync(join(folder, "flow.wire"), "output { other: 1 }\n")
    writeFileSync(file, JSON.stringify({ all: { api_key: "second-key-of-the-server" } }))
    const second = await startService(variables)
    const events = await allEvents(await second.get(`/execute/${run_id}/events`))
    assert.equal(events.at(-1)?.type, "workflow_completed")
    assert.equal(backend.keys.at(-1), "second-key-of-the-server")
    await second.stop()
  })

  it("fails with an input_error when a secret is gone by the time that it is taken up", async () => {
    const { promise: released, resolve: release } = Promise.withResolvers<void>()
    writeFileSync(join(folder, "flow.wire"), source)
    backend.holdUntil(released)
    backend.keys.length = 0
    const first = await startService(variables)
    const asked = await first.post("/workflows/flow/execute", { input: ada }, { prefer: "respond-async" })
    const { run_id } = (await asked.json()) as { run_id: string }
    await within(30_000, "the call", backend.called())
    await first.stop()
    release()
    writeFileSync(file, JSON.stringify({}))
    const second = await startService(variables)
    await allEvents(await second.get(`/execute/${run_id}/events`))
    const record = (await (await second.get(`/execute/${run_id}`)).json()) as {
      error: { kind: string; message: string }
    }
    assert.equal(record.error.kind, "input_error")
    assert.match(record.error.message, /api_key/)
    await second.stop()
  })
})

describe("a backend whose address the input decides", async () => {
  const backend = await keyBackend()
  const mcp = await tinyMcp({ probe: () => ({ content: [{ type: "text", text: "x" }] }) })
  after(() => mcp.close())
  const steered = withKey("input.name")
  const headers = withKey(`"${backend.endpoint}"`, 'headers { "X-Tenant": input.name }')
  const bound = (use: string, batch = false): string => `
input { url: string }
secrets { token: string }
mcp s { endpoint: input.url }
${batch ? "from mcp.s { tool probe bindings { token: secrets.token } }" : `tool probe from mcp.s.tool.probe ${use}`}
output { a: call tool.probe ${use === "" && !batch ? "{ bindings { token: secrets.token } }" : ""} }
`
  const plain = bound("{ bindings { token: secrets.token } }").replace("input.url", `"${mcp.url}"`)
  const api = await startServer((_, response) => {
    response.writeHead(200, { "content-type": "application/json" }).end('{"access_token":"t","token_type":"Bearer"}')
  })
  after(() => api.close())
  const overHttp = (endpoint: string, more: string, use = ""): string => `
input { url: string }
secrets { token: string }
api a { endpoint: ${endpoint} ${more} }
tool probe from api.a."POST /probe" { input { token: maybe string } ${use} }
output { a: call tool.probe }
`
  const signIn = (tokens: string): string => `auth { ${tokens} client_id: "me" client_secret: secrets.token }`
  const header = 'headers { Authorization: "Bearer {{ secrets.token }}" }'
  const here = `"${api.origin}"`
  const folder = folderOf({
    "endpoint.wire": steered,
    "headers.wire": headers,
    "binding.wire": bound("{ bindings { token: secrets.token } }"),
    "batch.wire": bound("", true),
    "call.wire": bound(""),
    "api-header.wire": overHttp("input.url", header),
    "api-path.wire": overHttp(`"${api.origin}/{{ input.url }}"`, header),
    "api-other-header.wire": overHttp(here, `${header.slice(0, -1)} "X-Tenant": input.url }`),
    "api-sign-in.wire": overHttp("input.url", signIn(`token_endpoint: ${here}`)),
    "api-token-endpoint.wire": overHttp(here, signIn("token_endpoint: input.url")),
    "api-issuer.wire": overHttp(here, signIn("issuer: input.url")),
    "api-scope.wire": overHttp(here, signIn(`token_endpoint: ${here} audience: input.url`)),
    "api-binding.wire": overHttp("input.url", "", "bindings { token: secrets.token }"),
    "fine-api.wire": overHttp(here, signIn(`token_endpoint: ${here}`), "bindings { token: secrets.token }"),
    "fine.wire": withKey(`"${backend.endpoint}"`),
    "fine-tool.wire": plain,
  })
  const names = readdirSync(folder).flatMap((file) => (file.startsWith("fine") ? [] : [file.replace(".wire", "")]))
  const withSecrets = await startService({
    WORKFLOWS: folder,
    SECRET_API_KEY: "server-key",
    SECRET_TOKEN: "server-token",
  })
  const without = await startService({ WORKFLOWS: folder })

  it("gets none of the server's secrets: the workflow is invalid, whatever a request sends", async () => {
    for (const name of names) {
      const detail = (await (await withSecrets.get(`/workflows/${name}`)).json()) as WorkflowDetail
      const [issue] = detail.issues.filter(({ severity }) => severity === "error")
      assert.deepEqual([name, detail.valid, issue?.code], [name, false, "secret-exposed"])
      assert.ok(issue !== undefined && "range" in issue, `${name} has a place`)
      assert.match(issue.hint ?? "", /^Write the endpoint, headers and `auth` without `input`/)
      const body = {
        input: { name: backend.endpoint, url: name.startsWith("api") ? api.origin : mcp.url },
        secrets: { api_key: "own", token: "own" },
      }
      const error = await errorOf(await withSecrets.post(`/workflows/${name}/execute`, body))
      assert.deepEqual([name, error.status, error.kind], [name, 422, "validation_error"])
    }
    for (const name of ["fine", "fine-tool", "fine-api"]) {
      const detail = (await (await withSecrets.get(`/workflows/${name}`)).json()) as WorkflowDetail
      assert.equal(detail.valid, true, name)
    }
    assert.deepEqual(backend.keys, [])
    assert.equal(api.received.length, 0)
    const fine = await withSecrets.post("/workflows/fine-api/execute", { input: { url: "" } })
    assert.equal(fine.status, 200, await fine.text())
    assert.equal(api.received.at(-1)?.body, '{"token":"server-token"}')
  })

  it("which is an api's, gets those of a request, where the server has none of that name", async () => {
    for (const name of ["api-header", "api-sign-in", "api-token-endpoint", "api-binding"]) {
      const sent = { input: { url: api.origin }, secrets: { token: "own-token" } }
      const answer = await without.post(`/workflows/${name}/execute`, sent)
      assert.equal(answer.status, 200, `${name} ${await answer.text()}`)
      const received = JSON.stringify(api.received.splice(0))
      assert.ok(received.includes("own-token") || received.includes(btoa("me:own-token")), `${name} ${received}`)
    }
  })

  it("gets those of a request, where the server has none of that name", async () => {
    const detail = (await (await without.get("/workflows/endpoint")).json()) as WorkflowDetail
    assert.equal(detail.valid, true)
    const sent = { input: { name: backend.endpoint }, secrets: { api_key: "own-key" } }
    assert.equal((await without.post("/workflows/endpoint/execute", sent)).status, 200)
    assert.deepEqual(backend.keys, ["own-key"])
    const missing = await errorOf(
      await without.post("/workflows/endpoint/execute", { input: { name: backend.endpoint } }),
    )
    assert.equal(missing.issues[0]?.path, "secrets.api_key")
  })
})

describe("a backend whose address a secret decides", async () => {
  const backend = await keyBackend()
  const stranger = await keyBackend()
  const received: string[] = []
  const strangersMcp = await startServer((request, response) => {
    received.push(`${JSON.stringify(request.headers)} ${request.body}`)
    response.writeHead(500).end()
  })
  after(() => strangersMcp.close())
  const mcp = await tinyMcp({ probe: () => ({ content: [{ type: "text", text: "x" }] }) })
  after(() => mcp.close())
  const steered = withKey("secrets.base_url").replace("api_key: string", "base_url: string\n  api_key: string")
  const byHeader = withKey(`"${backend.endpoint}"`, 'headers { "X-Route": secrets.route }').replace(
    "api_key: string",
    "route: maybe string\n  api_key: string",
  )
  const tools = `
secrets { url: string token: string bound: string }
mcp s { endpoint: secrets.url headers { Authorization: "Bearer {{ secrets.token }}" } }
tool probe from mcp.s.tool.probe { bindings { bound: secrets.bound } }
output { a: call tool.probe }
`
  const apis = tools
    .replace("mcp s", "api s")
    .replace("mcp.s.tool.probe {", 's."POST /x" { input { bound: string }')
    .replace("from s", "from api.s")
  const folder = folderOf({ "flow.wire": steered, "routed.wire": byHeader, "tools.wire": tools, "apis.wire": apis })
  const server = { base_url: backend.endpoint, api_key: "server-key", route: "r1" }
  const file = secretsFile({ all: { ...server, url: mcp.url, token: "server-token", bound: "server-bound" } })
  const service = await startService({ WORKFLOWS: folder, SECRETS_FILE: file })

  const refusal = async (path: string, secrets: JsonObject, input: JsonObject = ada) => {
    const error = await errorOf(await service.post(path, { input, secrets }))
    return [error.status, error.kind, error.issues.map((issue) => issue.path)]
  }

  it("gets no secret of the server where the request sends the address", async () => {
    const refused = await errorOf(
      await service.post("/workflows/flow/execute", { input: ada, secrets: { base_url: stranger.endpoint } }),
    )
    assert.deepEqual([refused.status, refused.kind, refused.issues[0]?.path], [422, "input_error", "secrets.base_url"])
    assert.equal(refused.issues[0]?.code, "secret-exposed")
    assert.match(refused.message, /provider\.backend .* the server's own `secrets\.api_key` would go there/)
    assert.deepEqual(stranger.keys, [])
    // A value that is as good as none is one that the request sends.
    const route = await refusal("/workflows/routed/execute", { route: null })
    assert.deepEqual(route, [422, "input_error", ["secrets.route"]])
    assert.deepEqual(backend.keys, [])
  })

  it("nor does an MCP server or an api, in its headers and in the arguments that are bound", async () => {
    for (const secrets of [
      { url: strangersMcp.origin },
      { url: strangersMcp.origin, token: "own" },
      { token: "own" },
      { url: strangersMcp.origin, bound: "own" },
    ]) {
      for (const name of ["tools", "apis"]) {
        const error = await errorOf(await service.post(`/workflows/${name}/execute`, { input: {}, secrets }))
        assert.deepEqual([error.status, error.kind], [422, "input_error"], `${name} ${JSON.stringify(secrets)}`)
      }
    }
    assert.deepEqual(received, [])
    assert.equal((await service.post("/workflows/tools/execute", { input: {} })).status, 200)
  })

  it("gets the request's secrets, if the request sends all of them", async () => {
    const own = { base_url: stranger.endpoint, api_key: "own-key" }
    assert.equal((await service.post("/workflows/flow/execute", { input: ada, secrets: own })).status, 200)
    assert.deepEqual(stranger.keys.splice(0), ["own-key"])
  })

  it("is where the server says otherwise, with the caller's own key as well", async () => {
    backend.keys.length = 0
    assert.equal((await service.post("/workflows/flow/execute", { input: ada })).status, 200)
    const own = { input: ada, secrets: { api_key: "own-key" } }
    assert.equal((await service.post("/workflows/flow/execute", own)).status, 200)
    assert.deepEqual(backend.keys, ["server-key", "own-key"])
  })

  it("is judged again for a re-run", async () => {
    const first = await service.post("/workflows/flow/execute", { input: ada })
    const rerun = `/execute/${first.headers.get("x-service-run-id")}/rerun`
    const error = await errorOf(await service.post(rerun, { secrets: { base_url: stranger.endpoint } }))
    assert.deepEqual([error.status, error.kind, error.issues[0]?.path], [422, "input_error", "secrets.base_url"])
    const all = { from: ["agent.reply"], secrets: { base_url: stranger.endpoint, api_key: "own-key" } }
    assert.equal((await service.post(rerun, all)).status, 200)
    assert.deepEqual(stranger.keys.splice(0), ["own-key"])
  })

  it("is named by the list of workflows: a caller may not override what decides it", async () => {
    const { workflows } = (await (await service.get("/workflows")).json()) as WorkflowsAnswer
    assert.deepEqual(
      workflows.map(({ name, valid, fixed_secrets }) => [name, valid, fixed_secrets]),
      [
        ["apis", true, ["url", "token"]],
        ["flow", true, ["base_url"]],
        ["routed", true, ["route"]],
        ["tools", true, ["url", "token"]],
      ],
    )
    const bare = await startService({ WORKFLOWS: folder, SECRET_BASE_URL: backend.endpoint })
    const detail = (await (await bare.get("/workflows/flow")).json()) as WorkflowDetail
    assert.equal(detail.fixed_secrets, undefined)
  })
})

describe("a re-run of a workflow that is not served any more", async () => {
  const backend = await keyBackend()
  const source = withKey(`"${backend.endpoint}"`)
  const folder = folderOf({ "flow.wire": source, "plain.wire": "output { a: 1 }\n" })
  const service = await startService({ WORKFLOWS: folder, SECRET_API_KEY: "server-key" })
  const runOf = async (name: string, body: JsonObject): Promise<string> => {
    const response = await service.post(`/workflows/${name}/execute`, body)
    assert.equal(response.status, 200)
    return `/execute/${response.headers.get("x-service-run-id")}/rerun`
  }
  const [flow, plain] = [await runOf("flow", { input: ada }), await runOf("plain", {})]
  const all = { from: ["agent.reply"] }
  const keyed = { "idempotency-key": "again" }
  /** Waits until the folder's list is as the condition wants it. */
  const until = async (fits: (workflows: WorkflowsAnswer["workflows"]) => boolean): Promise<void> => {
    const look = async (): Promise<void> => {
      for (;;) {
        const { workflows } = (await (await service.get("/workflows")).json()) as WorkflowsAnswer
        if (fits(workflows)) return
      }
    }
    await within(30_000, "the folder's list", look())
  }
  const versionOf = (workflows: WorkflowsAnswer["workflows"]) => workflows.find(({ name }) => name === "flow")?.version

  it("takes no results of steps from its caller, unless it sends the source", async () => {
    const given = { "agent.reply": { text: "I decided this." } }
    const refused = await errorOf(await service.post(flow, { given }))
    assert.deepEqual([refused.status, refused.kind], [403, "forbidden"])
    assert.match(refused.message, /not for a workflow of the server/)
    const sent = await service.post(flow, { given: {}, workflow_source: source, secrets: { api_key: "own" } })
    assert.equal(sent.status, 200)
  })

  it("gets the server's secrets while the workflow is served, in the same version where that is asked for", async () => {
    backend.keys.length = 0
    assert.equal((await service.post(flow, { ...all, same_version: true })).status, 200)
    assert.equal((await service.post(flow, all, keyed)).status, 200)
    const before = versionOf(((await (await service.get("/workflows")).json()) as WorkflowsAnswer).workflows)
    writeFileSync(join(folder, "flow.wire"), `// Another version.\n${source}`)
    await until((workflows) => versionOf(workflows) !== before)
    assert.equal((await service.post(flow, all)).status, 200)
    assert.deepEqual(backend.keys, ["server-key", "server-key", "server-key"])
    const error = await errorOf(await service.post(flow, { ...all, same_version: true }))
    assert.deepEqual([error.status, error.kind], [409, "conflict"])
    assert.match(error.message, new RegExp(`was of version ${before} of flow, which is served in version [0-9a-f]{12}`))
    const both = await errorOf(await service.post(flow, { workflow_source: source, same_version: true }))
    assert.deepEqual([both.status, both.kind], [400, "invalid_request"])
  })

  it("is of the workflow as it is served now where that is asked for", async () => {
    backend.keys.length = 0
    const { workflows } = (await (await service.get("/workflows")).json()) as WorkflowsAnswer
    const response = await service.post(flow, { ...all, version: "current" })
    assert.equal(response.status, 200)
    const record = await (await service.get(`/execute/${response.headers.get("x-service-run-id")}`)).json()
    const { workflow, version } = record as { workflow: unknown; version: unknown }
    assert.deepEqual([workflow, version], ["flow", versionOf(workflows)])
    assert.deepEqual(backend.keys, ["server-key"])
    for (const more of [{ same_version: true }, { workflow_source: source }]) {
      const both = await errorOf(await service.post(flow, { ...more, version: "current" }))
      assert.deepEqual([both.status, both.kind], [400, "invalid_request"])
    }
    const sent = await service.post("/execute", { workflow_source: "output { a: 1 }", input: {} })
    const id = sent.headers.get("x-service-run-id")
    const none = await errorOf(await service.post(`/execute/${id}/rerun`, { version: "current" }))
    assert.deepEqual([none.status, none.kind], [409, "conflict"])
  })

  it("gets none of them when its file is gone, and runs only with those of the request", async () => {
    rmSync(join(folder, "flow.wire"))
    rmSync(join(folder, "plain.wire"))
    await until((workflows) => workflows.length === 0)
    backend.keys.length = 0
    for (const body of [
      all,
      { ...all, secrets: {} },
      { ...all, same_version: true, secrets: { api_key: "own-key" } },
      { ...all, version: "current", secrets: { api_key: "own-key" } },
    ]) {
      const error = await errorOf(await service.post(flow, body))
      assert.deepEqual([error.status, error.kind], [409, "conflict"])
      assert.match(error.message, /flow.* is not served any more/)
    }
    assert.deepEqual(backend.keys, [])
    assert.equal((await service.post(flow, { ...all, secrets: { api_key: "own-key" } })).status, 200)
    assert.deepEqual(backend.keys, ["own-key"])
    // What needs no secret runs, and a request that is repeated gets its run.
    assert.equal((await service.post(plain, {})).status, 200)
    assert.equal((await service.post(flow, all, keyed)).headers.get("idempotency-replayed"), "true")
  })
})

describe("canaries: what a caller sends never gets a secret of the server", async () => {
  const key = canary("server-key")
  const own = canary("own-token")
  const requests: string[] = []
  const server = await startServer((request, response) => {
    requests.push(`${request.url} ${JSON.stringify(request.headers)} ${request.body}`)
    response.writeHead(200, { "content-type": "application/json" })
    response.end(JSON.stringify(answerOf([messageItem('{"message":"fine"}')])))
  })
  after(() => server.close())
  const source = withKey(`"${server.origin}/v1"`)
  const folder = folderOf({ "flow.wire": source, "steered.wire": withKey("input.name") })
  const file = secretsFile({ all: { api_key: key.value }, workflows: { flow: { token: own.value } } })
  const service = await startService({ WORKFLOWS: folder, SECRETS_FILE: file, SECRET_TOKEN: own.value })

  it("over every route that takes source, input or a name", async () => {
    const watch = new CanaryWatch([key, own])
    const show = async (where: string, response: Response): Promise<void> => {
      watch.search(`${where} headers`, JSON.stringify([...response.headers]))
      watch.search(where, await response.text())
    }
    const variants: JsonObject[] = [
      { workflow_source: source, input: ada },
      { workflow_source: source, input: ada, secrets: {} },
      { workflow_source: source, input: ada, secrets: { api_key: "mine" } },
      { workflow_source: source.replace("api_key: string", "api_key: maybe string"), input: ada },
      {
        workflow_source: source.replace(
          "secrets { api_key: string }",
          "secrets { token: maybe string api_key: maybe string }",
        ),
        input: ada,
      },
      { workflow_source: `// flow\n${source}`, input: ada, workflow: { name: "flow", version: "x" } },
      { workflow_source: source, input: ada, options: { cache_key: "flow" } },
    ]
    for (const [at, body] of variants.entries()) {
      for (const headers of [
        {},
        { accept: "text/event-stream" },
        { prefer: "respond-async" },
        { "idempotency-key": `k${at}` },
      ]) {
        const response = await service.post("/execute", body, headers)
        const run = response.headers.get("x-service-run-id")
        await show(`/execute ${at}`, response)
        if (run === null) continue
        await show("events", await service.get(`/execute/${run}/events`))
        await show("record", await service.get(`/execute/${run}`))
        await show("cancel", await service.post(`/execute/${run}/cancel`, ""))
      }
      await show("/validate", await service.post("/validate", { workflow_source: source, input: ada }))
    }
    await show("/format", await service.post("/format", { workflow_source: source }))
    for (const path of ["/workflows", "/workflows/flow", "/workflows/steered", "/openapi.json", "/metrics", "/runs"]) {
      await show(path, await service.get(path))
    }
    for (const input of [{ name: `${server.origin}/v1` }, { name: "https://evil.example" }]) {
      await show("steered", await service.post("/workflows/steered/execute", { input, secrets: { api_key: "mine" } }))
      await show("steered", await service.post("/workflows/steered/execute", { input }))
    }
    for (const line of requests) watch.search("a backend", line)
    assert.deepEqual(watch.found, [])
    assert.ok(requests.length > 0 && watch.searched > 50)

    // The same secret does reach the workflow that it is for, and nothing that is said of that run.
    requests.length = 0
    const response = await service.post("/workflows/flow/execute", { input: ada }, { accept: "text/event-stream" })
    const run = response.headers.get("x-service-run-id")
    await show("flow", response)
    await show("flow's record", await service.get(`/execute/${run}`))
    assert.deepEqual(watch.found, [])
    assert.ok(requests[0]?.includes(key.value))
  })
})
