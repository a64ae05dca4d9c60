import assert from "node:assert/strict"
import { describe, test } from "node:test"
import { startServer } from "../../support/http-server.ts"
import { errorOf, startService } from "./start-service.ts"

// Providers of every kind through the whole service, against its own demo model.

const kinds = [
  "openai",
  "openai_chat",
  "anthropic",
  "anthropic_compatible",
  "google",
  "ollama",
  "groq",
  "cohere",
  "sambanova",
]

const source = (kind: string, more = ""): string => `
input { name: string }
provider p from ${kind} { endpoint: "demo" ${more} }
model m from p { id: "demo" system: "Be kind to {{ input.name }}." }
model flaky from p { id: "demo-flaky" inference { retry_base_delay_ms: 1 } }
agent first { model: model.m  instruction: "Greet {{ input.name }}."  output { message: string } }
agent then { model: model.flaky  context: agent.first  instruction: "Greet Bo."  output { message: string  words: [string] } }
agent short { model: model.m  context: compact agent.then  system: "Be brief."  instruction: "Greet Cy."  output { message: string } }
output { first: agent.first.message  then: agent.then.message  short: agent.short.message }
`

describe("providers of every kind", async () => {
  const service = await startService()

  for (const kind of kinds) {
    test(`${kind}: a workflow with context, compaction and retries`, async () => {
      const response = await service.post("/execute", { workflow_source: source(kind), input: { name: "Ada" } })
      const body = (await response.json()) as { output?: unknown }
      assert.equal(response.status, 200, JSON.stringify(body))
      assert.match(JSON.stringify(body), /"first":"Hello, Ada\.","then":"Hello, Bo\.","short":"Hello, Cy\."/)
    })
  }

  for (const kind of kinds) {
    test(`${kind}: neither a model's id nor an endpoint leads to another path`, async (t) => {
      const server = await startServer((_request, response) => response.end("{}"))
      t.after(() => server.close())
      const workflow_source = `
        input { model: string  tenant: string }
        provider p from ${kind} {
            endpoint: "${server.origin}/v1/{{ input.tenant }}"
            inference { max_retries: 0 }
        }
        model m from p { id: input.model }
        agent a { model: model.m  instruction: "Hi"  output { message: string } }
        output { message: agent.a.message }`
      const wrong: [string, string, string][] = [
        ["../../admin/keys", "x", "model.m.id"],
        ["models/../../admin/keys", "x", "model.m.id"],
        ["..", "x", "model.m.id"],
        ["a/./b", "x", "model.m.id"],
        ["%2e%2e/keys", "x", "model.m.id"],
        ["a\\..\\b", "x", "model.m.id"],
        ["m", "../../admin", "provider.p.endpoint"],
        ["m", "%2E%2e", "provider.p.endpoint"],
      ]
      for (const [model, tenant, path] of wrong) {
        const error = await errorOf(await service.post("/execute", { workflow_source, input: { model, tenant } }))
        assert.deepEqual([error.status, error.kind], [422, "evaluation_error"], model)
        assert.match(error.message, new RegExp(`${path} has a segment`))
      }
      assert.equal(server.received.length, 0)
      await service.post("/execute", { workflow_source, input: { model: "gpt-4.1/x..y", tenant: "a.b" } })
      assert.ok(server.received.length > 0)
      for (const { url } of server.received) assert.match(url, /^\/v1\/a\.b\//)
    })
  }

  test("a refused key is named with its provider, its host and its secret; a missing one says what to write", async (t) => {
    const server = await startServer((_request, response) => response.writeHead(401).end("{}"))
    t.after(() => server.close())
    const { host } = new URL(server.origin)
    const run = async (kind: string, more: string) => {
      const text = source(kind, more).replaceAll('"demo"', `"${server.origin}/v1"`)
      const workflow_source = `secrets { api_key: string  org: string }\n${text}`
      const secrets = { api_key: "sk-hidden-1234", org: "org-hidden-1234" }
      const error = await errorOf(await service.post("/execute", { workflow_source, input: { name: "Ada" }, secrets }))
      assert.deepEqual([error.kind, error.issues[0]?.path], ["provider_error", "agent.first"])
      const said = `${error.message} ${error.issues[0]?.hint ?? ""}`
      assert.ok(said.includes(`provider.p at ${host}`), said)
      assert.doesNotMatch(said, /hidden/)
      return said
    }
    for (const kind of ["openai", "openai_chat", "anthropic", "google"]) {
      assert.match(
        await run(kind, "api_key: secrets.api_key"),
        /does not accept secrets\.api_key Check that secrets\.api_key /,
      )
      const both = await run(kind, 'api_key: "{{ secrets.api_key }}"  headers { org: secrets.org }')
      assert.match(both, /does not accept secrets\.api_key, secrets\.org/)
      assert.match(await run(kind, 'headers { x: "1" }'), /does not accept what its workflow sends/)
      assert.match(await run(kind, ""), /the workflow sends none Write `api_key: secrets\.name` in provider\.p/)
    }
  })

  test("an endpoint without a version that answers 404 gets the usual one", async (t) => {
    const server = await startServer((_request, response) => response.writeHead(404).end("{}"))
    t.after(() => server.close())
    for (const [kind, version] of [
      ["openai", "v1"],
      ["openai_chat", "v1"],
      ["anthropic", "v1"],
      ["google", "v1beta"],
    ] as const) {
      const run = async (endpoint: string) => {
        const workflow_source = source(kind).replaceAll('"demo"', `"${endpoint}"`)
        return errorOf(await service.post("/execute", { workflow_source, input: { name: "Ada" } }))
      }
      const bare = await run(server.origin)
      assert.ok(bare.message.includes(`endpoint: "${server.origin}/${version}"`), bare.message)
      const prefixed = await run(`${server.origin}/openai/`)
      assert.ok(prefixed.message.includes(`The endpoint has no \`/${version}\` in its path`), prefixed.message)
      assert.ok(prefixed.message.includes(`endpoint: "${server.origin}/openai/${version}"`), prefixed.message)
      for (const path of [version, `api/${version}`, "v2", "v1alpha/openai"]) {
        assert.doesNotMatch((await run(`${server.origin}/${path}`)).message, /The endpoint has no/, path)
      }
      if (kind.startsWith("openai")) {
        assert.match((await run(`${server.origin}/v1`)).message, /its provider is of the kind/)
      }
    }
  })

  test("wire_api wins over the kind", async () => {
    for (const [kind, api] of [
      ["ollama", "responses"],
      ["openai", "chat/completion"],
    ] as const) {
      const workflow_source = source(kind, `wire_api: "${api}"`)
      const response = await service.post("/execute", { workflow_source, input: { name: "Ada" } })
      assert.equal(response.status, 200)
    }
  })

  test("wire_api of a model wins over its provider's", async () => {
    const paths: string[] = []
    const backend = await startServer(({ url }, response) => {
      paths.push(url)
      response.writeHead(400, { "content-type": "application/json" }).end("{}")
    })
    for (const own of [`wire_api: "responses"`, `wire_api: "chat/completion"`, `wire_api: "chat/completions"`, ""]) {
      const workflow_source = `
        provider p from openai { endpoint: "${backend.origin}"  wire_api: "chat/completion" }
        model m from p { id: "m"  ${own} }
        agent a { model: model.m  instruction: "x"  output { m: string } }
        output { m: agent.a.m }`
      const response = await service.post("/execute", { workflow_source })
      assert.equal(response.status, 502)
    }
    await backend.close()
    assert.deepEqual(paths, ["/responses", "/chat/completions", "/chat/completions", "/chat/completions"])
  })

  test("a document reaches Anthropic's API with its context, and is cited", async () => {
    const bodies: { messages: { content: unknown }[]; output_config?: unknown }[] = []
    const backend = await startServer(({ body }, response) => {
      bodies.push(JSON.parse(body) as (typeof bodies)[number])
      response.writeHead(200, { "content-type": "application/json" }).end(
        JSON.stringify({
          id: "msg_1",
          type: "message",
          role: "assistant",
          model: "m",
          content: [{ type: "tool_use", id: "t_1", name: "give_answer", input: { m: "ok" } }],
          stop_reason: "tool_use",
          usage: { input_tokens: 1, output_tokens: 1 },
        }),
      )
    })
    const asset = (about: string): string => `{{ asset "https://x.test/a.pdf" { ${about} } }}`
    for (const about of [`title: "A", context: "By Ada.", citations: true`, `citations: false`]) {
      const workflow_source = `
        provider p from anthropic_compatible { endpoint: "${backend.origin}" }
        model m from p { id: "m"  assets: ["document"] }
        agent a { model: model.m  instruction: "${asset(about)}"  output { m: string } }
        output { m: agent.a.m }`
      const response = await service.post("/execute", { workflow_source })
      assert.deepEqual(await response.json(), { m: "ok" })
    }
    await backend.close()
    const [cited, plain] = bodies
    const source = { type: "url", url: "https://x.test/a.pdf" }
    const document = { type: "document", source, title: "A", context: "By Ada.", citations: { enabled: true } }
    assert.deepEqual(cited?.messages[0]?.content, [document])
    assert.deepEqual(plain?.messages[0]?.content, [{ type: "document", source }])
    // Anthropic refuses citations together with an output format.
    assert.equal(cited?.output_config, undefined)
    assert.notEqual(plain?.output_config, undefined)
  })

  test("the demo model answers at the address of each vendor, and fails in the vendor's shape", async () => {
    const user = { role: "user", content: "Greet Ada." }
    const google = { contents: [{ role: "user", parts: [{ text: "Greet Ada." }] }] }
    const asked: [string, object, RegExp][] = [
      ["/demo/v1/responses", { model: "demo", input: "Greet Ada." }, /"output_text","text":"Hello, Ada/],
      ["/demo/v1/chat/completions", { model: "demo", messages: [user] }, /"content":"Hello, Ada/],
      ["/demo/v1/messages", { model: "demo", max_tokens: 99, messages: [user] }, /"text","text":"Hello, Ada/],
      ["/demo/v1beta/models/demo:generateContent", google, /"parts":\[\{"text":"Hello, Ada/],
      ["/demo/v1beta/models/demo:streamGenerateContent?alt=sse", google, /^data: \{"candidates"/],
    ]
    for (const [path, body, expected] of asked) {
      const response = await service.post(path, body)
      assert.equal(response.status, 200, path)
      assert.match(await response.text(), expected)
    }
    const failing: [string, object, number, RegExp][] = [
      ["/demo/v1/chat/completions", { model: "demo-x", messages: [user] }, 404, /"code":"model_not_found"/],
      ["/demo/v1/messages", { model: "demo-x", max_tokens: 1, messages: [user] }, 404, /"type":"not_found_error"/],
      ["/demo/v1/messages", { model: "demo", messages: [user] }, 400, /max_tokens: Field required/],
      ["/demo/v1beta/models/demo-x:generateContent", google, 404, /"status":"NOT_FOUND"/],
      ["/demo/v1beta/models/demo:countTokens", google, 404, /not_found/],
    ]
    for (const [path, body, status, expected] of failing) {
      const response = await service.post(path, body)
      assert.equal(response.status, status, path)
      assert.match(await response.text(), expected)
    }
  })
})
