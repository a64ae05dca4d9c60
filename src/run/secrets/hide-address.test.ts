import assert from "node:assert/strict"
import { test } from "node:test"
import { hideAddress } from "./hide-address.ts"
import { redactor } from "./redact.ts"

/** What an error that names the endpoint's host shows. */
function shown(secret: string, endpoint: string): string {
  return hidden(secret, endpoint, `${URL.parse(endpoint)?.hostname} does not answer`)
}

function hidden(secret: string, endpoint: string, text: string): string {
  const redaction = redactor({ key: secret })
  hideAddress(redaction, { key: secret }, endpoint)
  return redaction.redact(text)
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

test("a secret that is a whole endpoint is hidden with its port and path, in every form", () => {
  for (const [endpoint, texts] of [
    ["https://Tenant.example.com:8443/v1", ["tenant.example.com:8443", "https://tenant.example.com:8443/v1/responses"]],
    [" https://tenant.example.com:8443/v1", ["tenant.example.com:8443"]],
    ["https:\n//tenant.example.com:8443/v1/", ["tenant.example.com:8443", "tenant.example.com:8443/v1/messages"]],
    ["https://tenant.example.com.:8443/v1", ["tenant.example.com:8443", "tenant.example.com"]],
    ["https://[fd00:0:0:0::8443]:8443/v1", ["[fd00::8443]:8443", "fd00::8443"]],
    ["http://gpu1:8443/v1", ["gpu1:8443 refused the connection"]],
  ] as const) {
    for (const text of texts) {
      assert.doesNotMatch(hidden(endpoint, endpoint, text), /tenant|8443|fd00|v1/, `${text} of ${endpoint}`)
    }
  }
  // What the author wrote around the secret stays.
  assert.match(hidden("TenantKey42", "https://TenantKey42.example.com:8443", "tenantkey42.example.com:8443"), /:8443$/)
})
