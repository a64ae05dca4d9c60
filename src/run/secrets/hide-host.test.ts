import assert from "node:assert/strict"
import { test } from "node:test"
import { hideHost } from "./hide-host.ts"
import { redactor } from "./redact.ts"

/** What an error that names the endpoint's host shows. */
function shown(secret: string, endpoint: string): string {
  const redaction = redactor({ key: secret })
  hideHost(redaction, { key: secret }, endpoint)
  return redaction.redact(`${URL.parse(endpoint)?.hostname} does not answer`)
}

test("a secret in the host is hidden in the form that errors have it in", () => {
  for (const [secret, endpoint] of [
    ["TenantKey42", "https://TenantKey42.example.com/v1"],
    ["TenantKéy42", "https://TenantKéy42.example.com/v1"],
    // The whole endpoint, or its beginning, is the secret.
    ["https://TenantKey42.example.com/v1", "https://TenantKey42.example.com/v1"],
    ["https://TenantKey42", "https://TenantKey42.example.com/v1"],
    ["TenantKey42.example.com/v1/Path", "https://TenantKey42.example.com/v1/Path"],
  ] as const) {
    assert.doesNotMatch(shown(secret, endpoint), /tenantk/i, `${secret} in ${endpoint}`)
  }
})

test("a secret elsewhere in the endpoint leaves the host as it is", () => {
  assert.match(shown("Key42Key42", "https://api.example.com/Key42Key42/v1"), /^api\.example\.com/)
  assert.match(shown("other", "https://api.example.com/v1"), /^api\.example\.com/)
})
