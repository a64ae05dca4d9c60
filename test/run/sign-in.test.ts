import assert from "node:assert/strict"
import { generateKeyPairSync } from "node:crypto"
import type { IncomingMessage, ServerResponse } from "node:http"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { after, beforeEach, describe, test } from "node:test"
import Provider from "oidc-provider"
import { clientAssertion } from "../../src/adapters/oauth/client-assertion.ts"
import { startDemoServer } from "../../src/demo/demo-server.ts"
import { allEvents } from "../contract/http/read-stream.ts"
import type { ErrorBody } from "../contract/http/start-service.ts"
import { startService } from "../contract/http/start-service.ts"
import type { Received } from "../support/http-server.ts"
import { startServer } from "../support/http-server.ts"

// Signing in by OAuth client credentials: against a certified authorization server, and against one that does what it should not.

const service = await startService()

function json(response: ServerResponse, value: unknown, status = 200, headers: Record<string, string> = {}): void {
  response.writeHead(status, { "content-type": "application/json", ...headers })
  response.end(JSON.stringify(value))
}

const tokenOf = ({ headers }: Received): string => (headers.authorization ?? "").replace(/^Bearer /, "")

/** An API that takes the tokens of `accepted`; null: all of them. */
let accepted: ReadonlySet<string> | null = null
const api = await startServer((request, response) => {
  const token = tokenOf(request)
  if (token === "" || accepted?.has(token) === false) return json(response, { error: "invalid_token" }, 401)
  return json(response, { said: token, ok: true })
})

/** An authorization server that answers as it is told to. */
let answer: (request: Received, response: ServerResponse) => void
const issuer = await startServer((request, response) => answer(request, response))
const metadata = { issuer: issuer.origin, token_endpoint: `${issuer.origin}/token` }
let given = 0

beforeEach(() => {
  accepted = null
  issuer.received.length = 0
  api.received.length = 0
  answer = (request, response) =>
    request.url === "/token"
      ? json(response, { access_token: `token-${++given}-abcdefgh`, token_type: "Bearer", expires_in: 3600 })
      : json(response, metadata)
})

function sourceOf(auth: string, calls = 1): string {
  const names = Array.from({ length: calls }, (_, at) => `c${at}`)
  return `
secrets { id: string  secret: string }
api crm { endpoint: "${api.origin}"  auth { client_id: secrets.id  ${auth} } }
tool t from api.crm."GET /x" { output { ok: boolean, said: string } }
dynamic { ${names.map((name) => `${name}: call tool.t`).join(" ")} }
output { ${names.map((name) => `${name}: dynamic.${name}`).join(" ")} }
`
}

async function run(source: string, secrets: Record<string, string>): Promise<{ status: number; text: string }> {
  const response = await service.post("/execute", { workflow_source: source, secrets })
  return { status: response.status, text: await response.text() }
}

/** Each test has a client of its own, and so tokens of its own. */
let clients = 0
const client = (): Record<string, string> => ({ id: `client-${++clients}`, secret: "p@ss word/very:secret" })

async function failed(auth: string): Promise<ErrorBody["error"]> {
  const { status, text } = await run(sourceOf(auth), client())
  assert.notEqual(status, 200, text)
  return (JSON.parse(text) as ErrorBody).error
}

describe("a certified authorization server", () => {
  const keys = {
    rsa: generateKeyPairSync("rsa", { modulusLength: 2048 }),
    ec: generateKeyPairSync("ec", { namedCurve: "P-256" }),
  }
  const jwk = (kind: keyof typeof keys, alg: string) => ({
    ...keys[kind].publicKey.export({ format: "jwk" }),
    kid: kind,
    alg,
    use: "sig",
  })
  const common = { grant_types: ["client_credentials"], redirect_uris: [], response_types: [], scope: "contacts.read" }
  let handle: (request: IncomingMessage, response: ServerResponse) => Promise<void>
  const server = createServer((request, response) => void handle(request, response))
  after(() => {
    server.close()
    server.closeAllConnections()
  })

  test("gives tokens to basic, post and signed assertions, found by its issuer", async () => {
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    const own = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const provider = new Provider(own, {
      clients: [
        {
          ...common,
          client_id: "basic",
          client_secret: "p@ss word/very:secret",
          token_endpoint_auth_method: "client_secret_basic",
        },
        {
          ...common,
          client_id: "post",
          client_secret: "p@ss word/very:secret",
          token_endpoint_auth_method: "client_secret_post",
        },
        ...(["rsa", "ec"] as const).map((kind) => ({
          ...common,
          client_id: kind,
          token_endpoint_auth_method: "private_key_jwt" as const,
          token_endpoint_auth_signing_alg: kind === "rsa" ? ("PS256" as const) : ("ES256" as const),
          jwks: { keys: [jwk(kind, kind === "rsa" ? "PS256" : "ES256")] },
        })),
      ],
      scopes: ["contacts.read"],
      features: { clientCredentials: { enabled: true }, devInteractions: { enabled: false } },
    })
    handle = provider.callback()
    const scopes = 'scopes: ["contacts.read"]'
    const pem = (kind: keyof typeof keys): string =>
      String(keys[kind].privateKey.export({ type: "pkcs8", format: "pem" }))
    const ways: [string, string, string][] = [
      ["basic", "client_secret: secrets.secret", "p@ss word/very:secret"],
      ["post", "client_secret: secrets.secret client_auth: post", "p@ss word/very:secret"],
      ["rsa", 'private_key: secrets.secret key_id: "rsa" algorithm: "PS256"', pem("rsa")],
      ["ec", 'private_key: secrets.secret key_id: "ec"', pem("ec")],
    ]
    for (const [id, auth, secret] of ways) {
      const { status, text } = await run(sourceOf(`issuer: "${own}" ${auth} ${scopes}`), { id, secret })
      assert.equal(status, 200, `${id}: ${text}`)
      assert.ok(tokenOf(api.received.at(-1) ?? assert.fail()).length > 20)
      assert.ok(text.includes("[secret:access_token]"), text)
    }
    const { text } = await run(sourceOf(`issuer: "${own}" client_secret: secrets.secret`), {
      id: "basic",
      secret: "wrong-secret-1",
    })
    const { error } = JSON.parse(text) as ErrorBody
    assert.equal(error.kind, "tool_error")
    assert.match(error.issues[0]?.message ?? "", /HTTP 401: invalid_client: client authentication failed/)
  })
})

describe("tokens", () => {
  const auth = `issuer: "${issuer.origin}" client_secret: secrets.secret audience: "crm" resource: "urn:x"`

  test("are asked for once for all that wait, kept for later runs of the same client, and never shown", async () => {
    const who = client()
    const response = await service.post(
      "/execute",
      { workflow_source: sourceOf(auth, 5), secrets: who },
      { accept: "text/event-stream" },
    )
    const events = JSON.stringify(await allEvents(response))
    assert.match(events, /workflow_completed/)
    assert.ok(!events.includes(`token-${given}-`), "a token is shown")
    const asked = issuer.received.filter(({ url }) => url === "/token")
    assert.equal(asked.length, 1)
    const form = new URLSearchParams(asked[0]?.body)
    assert.deepEqual(Object.fromEntries(form), {
      grant_type: "client_credentials",
      audience: "crm",
      resource: "urn:x",
    })
    const pair = Buffer.from((asked[0]?.headers.authorization ?? "").slice(6), "base64").toString()
    assert.equal(pair, `${who["id"]}:p%40ss+word%2Fvery%3Asecret`)
    await run(sourceOf(auth), who)
    assert.equal(issuer.received.filter(({ url }) => url === "/token").length, 1)
    await run(sourceOf(auth), client())
    await run(sourceOf(auth.replace("urn:x", "urn:y")), who)
    assert.equal(issuer.received.filter(({ url }) => url === "/token").length, 3)
  })

  test("are renewed when they are about to expire, and after one 401", async () => {
    const who = client()
    const usual = answer
    answer = (request, response) =>
      request.url === "/token"
        ? json(response, { access_token: `short-${++given}-abcdef`, expires_in: 0.001 })
        : usual(request, response)
    await run(sourceOf(auth), who)
    await run(sourceOf(auth), who)
    assert.equal(issuer.received.filter(({ url }) => url === "/token").length, 2)
    answer = usual
    const other = client()
    accepted = new Set([`token-${given + 2}-abcdefgh`])
    const { status, text } = await run(sourceOf(auth), other)
    assert.equal(status, 200, text)
    accepted = new Set()
    const before = api.received.length
    const refused = await run(sourceOf(auth), other)
    assert.match(refused.text, /HTTP 401/)
    assert.equal(api.received.length, before + 2)
  })

  test("a server that hangs up, lies about its issuer, redirects, or gives nonsense is a tool_error", async () => {
    const wrong: [RegExp, typeof answer][] = [
      [/another issuer/, (_, response) => json(response, { ...metadata, issuer: `${issuer.origin}/` })],
      [
        /no token endpoint/,
        (_, response) => json(response, { ...metadata, token_endpoint: "http://login.example.com/token" }),
      ],
      [
        /names a token endpoint at https:\/\/other\.example\.com, and not at its own address: write `token_endpoint`/,
        (_, response) => json(response, { ...metadata, token_endpoint: "https://other.example.com/token" }),
      ],
      [/redirects/, (_, response) => response.writeHead(302, { location: api.origin }).end()],
      [/closed the connection/, (_, response) => response.socket?.destroy()],
      [/did not answer with a JSON object/, (_, response) => response.writeHead(200).end("[]")],
      [/more than 65536 bytes/, (_, response) => json(response, { ...metadata, more: "x".repeat(1_000_000) })],
    ]
    for (const [message, faulty] of wrong) {
      answer = faulty
      const error = await failed(auth)
      assert.equal(error.kind, "tool_error")
      assert.match(error.issues[0]?.message ?? "", message)
    }
    const direct = `token_endpoint: "${issuer.origin}/token" client_secret: secrets.secret`
    const tokens: [RegExp, unknown][] = [
      [/gave no access token/, {}],
      [/more than 16384 characters/, { access_token: "x".repeat(20_000) }],
      [/cannot be sent in a header/, { access_token: "a\r\nX-Evil: 1" }],
      [/not a bearer token/, { access_token: "abc", token_type: "mac" }],
    ]
    for (const [message, value] of tokens) {
      answer = (_, response) => json(response, value)
      assert.match((await failed(direct)).issues[0]?.message ?? "", message)
    }
    answer = ({ headers }, response) =>
      json(
        response,
        { error: "invalid_scope", error_description: `No: ${headers.authorization ?? ""} p@ss word/very:secret` },
        400,
      )
    const echoed = JSON.stringify(await failed(direct))
    assert.match(echoed, /HTTP 400: invalid_scope: No: /)
    assert.ok(!echoed.includes("p@ss word"), echoed)
    const [, basic = ""] = (issuer.received.at(-1)?.headers.authorization ?? "").split(" ")
    assert.ok(basic !== "" && !echoed.includes(basic), echoed)
    assert.equal(api.received.length, 0)
  })
})

test("an address that is not one is a tool_error that names it; nothing is sent", async () => {
  const source = (property: string): string => `
input { i: string }
${sourceOf(`${property}: input.i client_secret: secrets.secret`)}`
  const run = async (property: string, i: string): Promise<ErrorBody["error"]> => {
    const body = { workflow_source: source(property), input: { i }, secrets: client() }
    return ((await (await service.post("/execute", body)).json()) as ErrorBody).error
  }
  const wrong: [string, RegExp][] = [
    ["", /is empty$/],
    ["https://", /is not a URL/],
    ["login.example.com", /is not a URL/],
    ["https://a b", /is not a URL/],
    ["https://x:99999", /is not a URL/],
    ["http://login.example.com", /does not begin with https:/],
    ["https://a:b@login.example.com", /has a user name or a password/],
  ]
  for (const property of ["issuer", "token_endpoint"]) {
    for (const [address, problem] of wrong) {
      const { kind, message } = await run(property, address)
      assert.equal(kind, "tool_error", message)
      assert.ok(message.startsWith(`api.crm.auth: \`${property}\` `), message)
      assert.match(message, problem)
    }
  }
  assert.equal(issuer.received.length, 0)
})

test("a key of another curve than the algorithm's is refused", async () => {
  const pem = (namedCurve: string): string =>
    generateKeyPairSync("ec", { namedCurve }).privateKey.export({ type: "pkcs8", format: "pem" }) as string
  const assertion = (algorithm: string, curve: string): string =>
    clientAssertion({ client_id: "c", private_key: pem(curve), key_id: null, algorithm }, "https://x", 0)
  assert.throws(() => assertion("ES384", "P-256"), /does not fit the algorithm ES384/)
  assert.throws(() => assertion("ES256", "secp256k1"), /does not fit the algorithm ES256/)
  assert.match(assertion("ES384", "P-384"), /^[\w-]+\.[\w-]+\.[\w-]+$/)
})

test("an MCP server is signed in to, with its own address as the resource", async () => {
  const demo = await startDemoServer()
  after(() => demo.close())
  const seen: string[] = []
  const guard = await startServer(async (request, response) => {
    const token = tokenOf(request)
    if (token === "") return json(response, {}, 401)
    seen.push(token)
    const { host: _, "content-length": __, connection: ___, "transfer-encoding": ____, ...headers } = request.headers
    const answered = await fetch(demo.library, {
      method: request.method,
      headers: Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)]),
      ...(request.method === "POST" ? { body: request.body } : {}),
    })
    const type = answered.headers.get("content-type") ?? "application/json"
    response.writeHead(answered.status, { "content-type": type })
    response.end(await answered.text())
  })
  const source = (auth: string): string => `
secrets { id: string  secret: string }
mcp library { endpoint: "${guard.origin}/mcp" ${auth} }
tool find from mcp.library.tool.find-books
output { found: call tool.find { input { query: "owl" } }  id: "x" }
`
  const auth = `auth { token_endpoint: "${issuer.origin}/token" client_id: secrets.id client_secret: secrets.secret }`
  const { status, text } = await run(source(auth), client())
  assert.equal(status, 200, text)
  assert.equal(new Set(seen).size, 1)
  const form = new URLSearchParams(issuer.received.at(-1)?.body)
  assert.equal(form.get("resource"), `${guard.origin}/mcp`)
  const without = await run(source(""), client())
  assert.match(without.text, /HTTP 401.*Signing in as a user in a browser is not supported/)
})
