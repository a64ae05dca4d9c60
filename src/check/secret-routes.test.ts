import assert from "node:assert/strict"
import { test } from "node:test"
import { compile } from "../compile.ts"
import { secretRoutes } from "./secret-routes.ts"

const head = `input { url: string q: string }
secrets { key: string token: string }
`
const model = `model m from p { id: "m" }
agent a { model: model.m instruction: "x" output { r: string } }
output { r: agent.a.r }
`

/** Each secret that goes where the input says, with its place. */
function found(source: string): string[] {
  const { program, diagnostics, plan } = compile(source)
  assert.deepEqual(
    diagnostics.filter(({ severity }) => severity === "error").map(({ message }) => message),
    [],
  )
  const routes = secretRoutes(program)
  assert.deepEqual(
    plan?.secret_routes ?? [],
    routes.map(({ backend, inputs, destinationInputs, sent }) => ({ backend, inputs, destinationInputs, sent })),
  )
  const steered = routes.filter(({ inputs }) => inputs.length > 0)
  const lines = steered.flatMap(({ places }) =>
    places.flatMap(({ names, path }) => names.map((name) => `${path} ${name}`)),
  )
  const all = program.secrets?.type.fields.map(({ name }) => name) ?? []
  const sent = steered.flatMap((route) => (route.sent === "all" ? all : route.sent))
  assert.deepEqual(new Set(sent), new Set(lines.map((line) => line.split(" ")[1])))
  return lines
}

test("a provider whose endpoint or headers refer to the input exposes every secret that it is given", () => {
  const provider = (endpoint: string, headers = ""): string =>
    `${head}provider p from openai { endpoint: ${endpoint} api_key: secrets.key headers { X: secrets.token ${headers} } }\n${model}`
  const both = ["provider.p.api_key key", "provider.p.headers.X token"]
  assert.deepEqual(found(provider("input.url")), both)
  assert.deepEqual(found(provider('"https://{{ input.url }}.example.com"')), both)
  assert.deepEqual(
    found(provider('match input.q == "a" { true: "https://a.example", false: "https://b.example" }')),
    both,
  )
  assert.deepEqual(found(provider('"https://a.example"', "Y: input.q")), both)
  assert.deepEqual(found(provider('"https://a.example"')), [])
})

test("an MCP server exposes what its tools are bound to: in imports, batches, uses and calls", () => {
  const server = `${head}mcp s { endpoint: input.url headers { A: secrets.key } }\n`
  const bound = "{ bindings { t: secrets.token } }"
  const agent = (uses: string): string => `
provider p from openai { endpoint: "https://a.example" api_key: secrets.key }
model m from p { id: "m" }
agent a { model: model.m uses: [${uses}] instruction: "x" output { r: string } }
output { r: agent.a.r }
`
  const own = "mcp.s.headers.A key"
  assert.deepEqual(found(`${server}tool t from mcp.s.tool.t ${bound}\noutput { r: call tool.t }\n`), [
    own,
    "tool.t.bindings.t token",
  ])
  assert.deepEqual(found(`${server}from mcp.s { tool t bindings { t: secrets.token } }\noutput { r: call tool.t }\n`), [
    own,
    "tool.t.bindings token",
  ])
  assert.deepEqual(found(`${server}tool t from mcp.s.tool.t\noutput { r: call tool.t ${bound} }\n`), [
    own,
    "tool.t.bindings token",
  ])
  assert.deepEqual(found(`${server}tool t from mcp.s.tool.t\n${agent(`tool.t ${bound}`)}`), [
    own,
    "tool.t.bindings token",
  ])
  assert.deepEqual(found(`${server}resource r from mcp.s.resource.r\noutput { r: read resource.r ${bound} }\n`), [
    own,
    "resource.r.bindings token",
  ])
  // Another server's tools are none of its business.
  const two = `${server}mcp fixed { endpoint: "https://b.example/mcp" }\ntool t from mcp.fixed.tool.t ${bound}\n`
  assert.deepEqual(found(`${two}tool u from mcp.s.tool.u\noutput { r: call tool.t u: call tool.u }\n`), [own])
})

test("a route names what decides where its backend's calls go, and every secret that goes there", () => {
  const routes = (source: string) => compile(source).plan?.secret_routes
  const secrets = "secrets { base_url: string key: string token: string }\n"
  const provider = `provider p from openai { endpoint: secrets.base_url api_key: secrets.key headers { X: "{{ input.q }}" } }\n`
  assert.deepEqual(routes(`input { q: string }\n${secrets}${provider}${model}`), [
    { backend: "provider.p", inputs: ["input.q"], destinationInputs: ["base_url"], sent: ["base_url", "key"] },
  ])
  // A key alone does not decide where calls go.
  const fixed = `provider p from openai { endpoint: "https://a.example" api_key: secrets.key }\n`
  assert.equal(routes(`${secrets}${fixed}${model}`), undefined)
  const server = `mcp s { endpoint: "https://b.example" headers { A: secrets.key } }\n`
  const tool = "tool t from mcp.s.tool.t { bindings { t: secrets.token } }\noutput { r: call tool.t }\n"
  assert.deepEqual(routes(`${secrets}${server}${tool}`), [
    { backend: "mcp.s", inputs: [], destinationInputs: ["key"], sent: ["key", "token"] },
  ])
})

test("a plan does not grow with the number of secrets times the number of backends that get them all", () => {
  const source = (count: number): string => {
    const each = (make: (at: number) => string): string => Array.from({ length: count }, (_, at) => make(at)).join("\n")
    const provider = (at: number): string =>
      `provider p${at} from openai { endpoint: input.url headers { A: "{{ secrets }}" } }\nmodel m${at} from p${at} { id: "m" }`
    return `input { url: string }\nsecrets { ${each((at) => `k${at}: string`)} }\n${each(provider)}\noutput { x: 1 }`
  }
  const size = (count: number): number => JSON.stringify(compile(source(count)).plan).length
  assert.ok(size(400) < size(100) * 6, `${size(100)} and ${size(400)} characters`)
})

test("an api exposes what its headers, its sign-in and the bindings of its tools hold", () => {
  const api = (endpoint: string, more = "", use = ""): string =>
    `${head}api a { endpoint: ${endpoint} ${more} }
tool t from api.a."GET /x" { input { k: string } bindings { k: secrets.token } }
output { r: call tool.t ${use} }
`
  const auth = 'auth { issuer: "https://login.example" client_id: "c" client_secret: secrets.key }'
  assert.deepEqual(found(api("input.url", "headers { X: secrets.key }")), [
    "api.a.headers.X key",
    "tool.t.bindings.k token",
  ])
  assert.deepEqual(found(api("input.url", auth)), ["api.a.auth key", "tool.t.bindings.k token"])
  const steered = 'auth { issuer: input.url client_id: "c" client_secret: secrets.key }'
  assert.deepEqual(found(api('"https://a.example"', steered)), ["api.a.auth key", "tool.t.bindings.k token"])
  assert.deepEqual(found(api('"https://a.example"', "headers { X: secrets.key }")), [])
})
