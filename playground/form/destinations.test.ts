import assert from "node:assert/strict"
import { test } from "node:test"
import type { JsonObject } from "../../src/base/json-value.ts"
import { compile } from "../../src/compile.ts"
import { destinationsOf } from "./destinations.ts"

/** `host <- secrets` of every destination. */
function destinations(source: string, input: JsonObject = {}): string[] {
  const { plan, diagnostics } = compile(source)
  assert.ok(plan !== undefined, JSON.stringify(diagnostics))
  return destinationsOf(plan, input).map(({ host, secrets }) => `${host} <- ${secrets.join(", ")}`)
}

const agent = (model = "m", more = ""): string =>
  `agent a { model: model.${model} instruction: "x" ${more} output { t: string } } output { t: agent.a.t }`

const secrets = "secrets { key: string\n token: string\n place: string }\n"

test("providers with their keys and headers", () => {
  assert.deepEqual(
    destinations(`${secrets}
      provider p from openai { endpoint: "https://api.example.com:8443/v1" api_key: secrets.key
        headers { X-Token: "t {{ secrets.token }}" } }
      model m from p { id: "x" }
      ${agent()}`),
    ["api.example.com:8443 <- key, token"],
  )
})

test("OpenAI's own where no endpoint is written; the demo by its name", () => {
  const source = (endpoint: string): string =>
    `${secrets} provider p from openai { ${endpoint} api_key: secrets.key } model m from p { id: "x" } ${agent()}`
  assert.deepEqual(destinations(source("")), ["api.openai.com <- key"])
  assert.deepEqual(destinations(source('endpoint: "demo"')), ["the demo model of this service <- key"])
})

test("a provider that nothing calls receives nothing; a model of a compaction is a call", () => {
  const source = (context: string): string => `${secrets}
    provider p from openai { endpoint: "https://one.example/v1" }
    provider q from openai { endpoint: "https://two.example/v1" api_key: secrets.key }
    model m from p { id: "x" }
    model n from q { id: "x" }
    agent first { model: model.m instruction: "x" output { t: string } }
    ${agent("m", context)}`
  assert.deepEqual(destinations(source("")), ["one.example <- "])
  assert.deepEqual(destinations(source("context: compact agent.first { model: model.n }")), [
    "one.example <- ",
    "two.example <- key",
  ])
})

test("an address from the input is shown as it is; one from a secret by the secret's name", () => {
  const source = (endpoint: string): string => `input { host: string\n alt: maybe string } ${secrets}
    provider p from openai { endpoint: ${endpoint} api_key: secrets.key } model m from p { id: "x" } ${agent()}`
  const at = (endpoint: string): string[] => destinations(source(endpoint), { host: "in.example", alt: null })
  assert.deepEqual(at('"https://{{ input.host }}/v1"'), ["in.example <- key"])
  assert.deepEqual(at("input.host"), ["in.example <- key"])
  assert.deepEqual(at('input.alt ?? "https://other.example/v1"'), ["other.example <- key"])
  assert.deepEqual(at("secrets.place"), ["the address in secrets.place <- key, place"])
  assert.deepEqual(at('"https://known.example/{{ secrets.place }}"'), ["known.example <- key, place"])
  assert.deepEqual(at('"https://{{ secrets.place }}.example/v1"'), ["a host that a secret decides <- key, place"])
  // URLs may have more than two slashes before their host.
  assert.deepEqual(at('"https:///{{ secrets.place }}/v1"'), ["a host that a secret decides <- key, place"])
  // What stands before the @ is not a host.
  assert.deepEqual(at('"https://api.example@evil.example/v1"'), ["evil.example <- key"])
})

test("MCP servers with headers, and the bindings of imports, uses and calls", () => {
  const source = (use: string, call: string): string => `${secrets}
    provider p from openai { endpoint: "demo" }
    model m from p { id: "x" }
    mcp s { endpoint: "https://mcp.example/mcp" headers { Authorization: "Bearer {{ secrets.token }}" } }
    mcp unused { endpoint: "https://nobody.example/mcp" headers { X: secrets.place } }
    tool t from mcp.s.tool.t
    dynamic { d: ${call} }
    ${agent("m", use)}`
  const plain = destinations(source("uses: [tool.t]", '"x"'))
  assert.deepEqual(plain, ["the demo model of this service <- ", "mcp.example <- token"])
  const bound = destinations(source("uses: [tool.t { bindings { k: secrets.key } }]", '"x"'))
  assert.deepEqual(bound[1], "mcp.example <- key, token")
  const called = destinations(source("uses: [tool.t]", "call tool.t { bindings { k: secrets.place } }"))
  assert.deepEqual(called[1], "mcp.example <- place, token")
})

test("secrets that are passed on as a whole are all of them", () => {
  const source = (binding: string): string => `${secrets}
    mcp s { endpoint: "https://s.example/mcp" }
    tool t from mcp.s.tool.t { bindings { all: ${binding} } }
    output { t: call tool.t }`
  assert.deepEqual(destinations(source("secrets")), ["s.example <- key, place, token"])
  assert.deepEqual(destinations(source('{ in: [secrets, "x"] }')), ["s.example <- key, place, token"])
  assert.deepEqual(destinations(source("(secrets).key")), ["s.example <- key"])
})

test("an address that a secret decides only where there is one, with what is called otherwise", () => {
  const source = `secrets { place: maybe string\n key: string }
    provider p from openai { endpoint: secrets.place ?? "https://other.example/v1" api_key: secrets.key }
    model m from p { id: "x" }
    ${agent()}`
  assert.deepEqual(destinations(source), ["the address in secrets.place, else other.example <- key, place"])
})

test("only a host that is known now is said to be known: words for others may mean another host in another workflow", () => {
  const known = (endpoint: string): boolean[] => {
    const source = `input { u: string } ${secrets}
      provider p from openai { endpoint: ${endpoint} } model m from p { id: "x" } ${agent()}`
    const { plan, diagnostics } = compile(source)
    assert.ok(plan !== undefined, JSON.stringify(diagnostics))
    return destinationsOf(plan, { u: "https://in.example" }).map(({ isKnown }) => isKnown)
  }
  for (const endpoint of ['"demo"', "input.u", '"https://a.example/v1"']) assert.deepEqual(known(endpoint), [true])
  for (const endpoint of ["secrets.place", '"https://{{ secrets.place }}/"', 'secrets.token ?? "https://a.example"']) {
    assert.deepEqual(known(endpoint), [false], endpoint)
  }
})

test("an api receives what its headers and bindings hold", () => {
  const source = `${secrets}
    api crm { endpoint: "https://crm.example/v2" headers { Authorization: "Bearer {{ secrets.token }}" } }
    tool find from api.crm."GET /contacts" { input { q: string } requires: none }
    dynamic { found: call tool.find { input { q: "x" } } }
    output { found: dynamic.found }`
  assert.deepEqual(destinations(source), ["crm.example <- token"])
})

test("called files call hosts, too, with the secrets that they are given", () => {
  const called = (endpoint: string): string => `input { host: maybe string } secrets { own: string }
    provider p from openai { endpoint: ${endpoint} api_key: secrets.own } model m from p { id: "x" } ${agent()}`
  const main = `secrets { key: string }
    workflow w from "./w.wire" { secrets { own: secrets.key } }
    dynamic { done: call workflow.w { input { host: null } } }
    output { t: dynamic.done.t }`
  const at = (endpoint: string): string[] => {
    const { plan, diagnostics } = compile(main, { modules: { "w.wire": called(endpoint) } })
    assert.ok(plan !== undefined, JSON.stringify(diagnostics))
    return destinationsOf(plan, {}).map(
      ({ host, secrets: given, callers }) => `${callers.join()}: ${host} <- ${given.join()}`,
    )
  }
  assert.deepEqual(at('"https://in.example/v1"'), ["w.wire#provider.p: in.example <- key"])
  assert.deepEqual(at("secrets.own"), ["w.wire#provider.p: the address in secrets.key <- key"])
  // Only the run knows the input of a called file.
  assert.deepEqual(at('input.host ?? "https://in.example/v1"'), [
    "w.wire#provider.p: an address made at run time <- key",
  ])
})
