import assert from "node:assert/strict"
import { test } from "node:test"
import type { JsonObject } from "../../src/base/json-value.ts"
import { compile } from "../../src/compile.ts"
import type { Span } from "../../src/log/run-state.ts"
import { sentRequest } from "./sent-request.ts"

const source = (endpoint: string): string => `
input { host: string }
secrets { crm_token: string }
api crm { endpoint: ${endpoint}  headers { Authorization: "Bearer {{ secrets.crm_token }}" } }
tool find from api.crm."GET /contacts/{id}" { input { id: string  fields: maybe [string] } }
tool note from api.crm."POST /contacts/{id}/notes" { input { id: string  text: string } bindings { text: secrets.crm_token } }
output { a: call tool.find { input { id: "a" fields: null } }  b: call tool.note { input { id: "b" } } }
`

function span(name: string, given: JsonObject): Span {
  return { kind: "tool_call", name, parent: null, start: 0, end: 1, state: "completed", arguments: given }
}

function planOf(endpoint: string) {
  const { plan, diagnostics } = compile(source(endpoint))
  assert.ok(plan !== undefined, JSON.stringify(diagnostics))
  return plan
}

test("a GET, with its path and query; the secret is a variable", () => {
  const plan = planOf('"https://crm.example.com/v2/"')
  const sent = sentRequest(plan, {}, span("find", { id: 'a/"b$(rm)', fields: ["x", "y"] }))
  assert.equal(sent?.line, "GET /contacts/a%2F%22b%24(rm)?fields=x&fields=y")
  assert.equal(
    sent.curl,
    'curl -X GET "https://crm.example.com/v2/contacts/a%2F%22b%24(rm)?fields=x&fields=y" \\\n' +
      '  -H "Authorization: Bearer ${CRM_TOKEN}"',
  )
})

test("a POST, whose body cannot end its quotes; a bound secret is a variable", () => {
  const sent = sentRequest(
    planOf("input.host"),
    { host: "https://a.example.com" },
    span("note", {
      id: "[secret:crm_token]",
      text: '`id` "$HOME" \\ [secret:crm_token]',
    }),
  )
  assert.equal(sent?.body, '{"text":"`id` \\"$HOME\\" \\\\ [secret:crm_token]"}')
  assert.ok(sent.curl.startsWith('curl -X POST "https://a.example.com/contacts/${CRM_TOKEN}/notes" \\\n'))
  assert.ok(
    sent.curl.endsWith('--data-raw "{\\"text\\":\\"\\`id\\` \\\\\\"\\$HOME\\\\\\" \\\\\\\\ ${CRM_TOKEN}\\"}"'),
    sent.curl,
  )
})

test("an endpoint that is not known here is a variable; a tool of a server is no request", () => {
  assert.ok(sentRequest(planOf('"demo"'), {}, span("find", { id: "a" }))?.curl.includes('"${CRM_ENDPOINT}/contacts/a"'))
  assert.equal(sentRequest(null, {}, span("find", {})), null)
})
