import assert from "node:assert/strict"
import { test } from "node:test"
import type { JsonObject } from "../../base/json-value.ts"
import { compile } from "../../compile.ts"
import { exposedByRequest, secretsOfRun } from "./secrets-of-run.ts"

const source = `
input { url: string }
secrets { base_url: string api_key: string org: string token: string }
provider p from openai { endpoint: secrets.base_url api_key: secrets.api_key headers { Org: secrets.org } }
provider q from openai { endpoint: "https://q.example" api_key: secrets.token }
model m from p { id: "m" }
model n from q { id: "n" }
agent a { model: model.m instruction: "x" output { r: string } }
agent b { model: model.n instruction: "x" output { r: string } }
output { a: agent.a.r b: agent.b.r }
`
const own: JsonObject = { base_url: "https://own.example", api_key: "key", org: "org", token: "token" }
const workflow = { name: "flow", version: "0" }
const server = (name: string, names: readonly string[]): JsonObject => {
  assert.equal(name, "flow")
  return Object.fromEntries(Object.entries(own).filter(([key]) => names.includes(key)))
}

function planOf(text: string) {
  const { plan } = compile(text)
  assert.ok(plan !== undefined)
  return plan
}

function pathsOf(secrets: JsonObject, text = source): string[] {
  return exposedByRequest(planOf(text), { secrets, workflow }, server)?.issues.map(({ path }) => path) ?? []
}

test("the server's secrets stay away from a backend that a secret of the request steers, and from no other", () => {
  const plan = planOf(source)
  const names = (secrets: JsonObject) => Object.keys(secretsOfRun(plan, { secrets, workflow }, server)).sort()
  assert.deepEqual(names({}), ["api_key", "base_url", "org", "token"])
  assert.deepEqual(names({ base_url: "https://x.example" }), ["base_url", "token"])
  assert.deepEqual(names({ org: "mine" }), ["org", "token"])
  assert.deepEqual(names({ api_key: "mine" }), ["api_key", "base_url", "org", "token"])
  assert.deepEqual(secretsOfRun(plan, { secrets: {} }, server), {})
})

test("a request that would have them sent there is refused, by the name of each field that decides it", () => {
  assert.deepEqual(pathsOf({}), [])
  assert.deepEqual(pathsOf({ api_key: "mine", token: "mine" }), [])
  assert.deepEqual(pathsOf({ base_url: "https://x.example" }), ["secrets.base_url"])
  assert.deepEqual(pathsOf({ base_url: "https://x.example", org: "mine" }), ["secrets.base_url", "secrets.org"])
  assert.deepEqual(pathsOf({ base_url: "https://x.example", org: "mine", api_key: "mine" }), [])
  const steered = source.replace("endpoint: secrets.base_url", "endpoint: input.url")
  assert.deepEqual(pathsOf({ api_key: "mine" }, steered), ["input.url"])
  // All of the block may go along.
  const whole = source.replace("Org: secrets.org", 'Org: "{{ secrets }}"')
  assert.deepEqual(pathsOf({ token: "mine" }, whole), ["secrets.token"])
})

test("null decides something only in the place of a value that the server has", () => {
  const optional = source.replace("org: string", "org: maybe string")
  assert.deepEqual(pathsOf({ org: null }, optional), ["secrets.org"])
  const without = (_: string, names: readonly string[]): JsonObject =>
    server(
      "flow",
      names.filter((name) => name !== "org"),
    )
  assert.equal(exposedByRequest(planOf(optional), { secrets: { org: null }, workflow }, without), null)
})
