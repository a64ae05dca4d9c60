import assert from "node:assert/strict"
import { createHmac } from "node:crypto"
import { createRequire } from "node:module"
import { test } from "node:test"
import { sign as signAsGitHub, verify as verifyAsGitHub } from "@octokit/webhooks-methods"
import { Webhook } from "standardwebhooks"
import { fc } from "../../../test/support/fast-check.ts"
import type { Verification } from "../../plan/plan-triggers.ts"
import { deliveryOf, isSigned, readSignature, signedHeaders, usableSecrets, whyUnusable } from "./webhook-signature.ts"

const verifies = (
  verify: Verification,
  headers: Record<string, string>,
  body: string,
  secret: string,
  now: number,
): boolean => {
  const signature = readSignature(verify, headers, now)
  return signature !== null && isSigned(verify, signature, Buffer.from(body), [secret])
}

test("GitHub's published example", () => {
  const headers = {
    "x-hub-signature-256": "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17",
  }
  const secret = "It's a Secret to Everybody"
  assert.ok(verifies({ scheme: "github" }, headers, "Hello, World!", secret, 0))
  assert.ok(!verifies({ scheme: "github" }, headers, "Hello, World! ", secret, 0))
  assert.ok(!verifies({ scheme: "github" }, headers, "Hello, World!", `${secret}.`, 0))
})

test("GitHub's own library, in both directions", async () => {
  const secret = "0123456789abcdef"
  const body = '{"é":"🦉"}\n'
  const headers = { "x-hub-signature-256": await signAsGitHub(secret, body) }
  assert.ok(verifies({ scheme: "github" }, headers, body, secret, 0))
  const ours = signedHeaders({ scheme: "github" }, Buffer.from(body), secret, { id: "", at: 0 })
  assert.ok(await verifyAsGitHub(secret, body, ours["x-hub-signature-256"] ?? ""))
})

test("Slack's published example", () => {
  const headers = {
    "x-slack-request-timestamp": "1531420618",
    "x-slack-signature": "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503",
  }
  const body =
    "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c"
  const secret = "8f742231b10e8888abcd99yyyzzz85a5"
  const at = 1_531_420_618_000
  assert.ok(verifies({ scheme: "slack" }, headers, body, secret, at + 299_000))
  assert.ok(!verifies({ scheme: "slack" }, headers, body, secret, at + 301_000))
  assert.ok(!verifies({ scheme: "slack" }, headers, body, secret, at - 301_000))
})

test("the published example of Standard Webhooks, and its own library in both directions", () => {
  const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
  const at = 1_614_265_330_000
  const headers = {
    "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
    "webhook-timestamp": "1614265330",
    "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
  }
  const body = '{"test": 2432232314}'
  assert.ok(verifies({ scheme: "standard" }, headers, body, secret, at))
  const several = { ...headers, "webhook-signature": `v1a,xyz v1,aaaa ${headers["webhook-signature"]}` }
  assert.ok(verifies({ scheme: "standard" }, several, body, secret, at))
  assert.ok(!verifies({ scheme: "standard" }, { ...headers, "webhook-id": "msg_2" }, body, secret, at))

  const library = new Webhook(secret)
  const now = Date.now()
  const theirs = library.sign("msg_1", new Date(now), "é🦉")
  const seconds = String(Math.floor(now / 1000))
  const signed = { "webhook-id": "msg_1", "webhook-timestamp": seconds, "webhook-signature": theirs }
  assert.ok(verifies({ scheme: "standard" }, signed, "é🦉", secret, now))
  const ours = signedHeaders({ scheme: "standard" }, Buffer.from('{"a":1}'), secret, { id: "msg_3", at: now })
  assert.deepEqual(library.verify('{"a":1}', ours), { a: 1 })
})

test("Stripe signs with the whole secret, and may send several signatures", () => {
  const secret = "whsec_test_secret_0123456789"
  const at = 1_700_000_000
  const right = createHmac("sha256", secret).update(`${at}.{"id":"evt_1"}`).digest("hex")
  const wrong = "0".repeat(64)
  const headers = { "stripe-signature": `t=${at},v1=${wrong},v1=${right},v0=${wrong}` }
  const verify = { scheme: "stripe" } as const
  assert.ok(verifies(verify, headers, '{"id":"evt_1"}', secret, at * 1000))
  assert.ok(!verifies(verify, { "stripe-signature": `t=${at},v0=${right}` }, '{"id":"evt_1"}', secret, at * 1000))
  assert.ok(!verifies(verify, { "stripe-signature": `t=${at + 1},v1=${right}` }, '{"id":"evt_1"}', secret, at * 1000))
})

interface StripeWebhooks {
  generateTestHeaderString(given: { payload: string; secret: string; timestamp: number }): string
  constructEvent(payload: string, header: string, secret: string): { readonly id: string }
}

test("Stripe's own library, in both directions", () => {
  // An early release: it signs as the present ones do, and is a fiftieth of their size. It has no types of its own.
  const { webhooks } = createRequire(import.meta.url)("stripe")("sk_test_none") as { webhooks: StripeWebhooks }
  const secret = "whsec_test_secret_0123456789"
  const payload = '{"id":"evt_1","é":"🦉"}'
  const now = Date.now()
  const timestamp = Math.floor(now / 1000)
  const theirs = webhooks.generateTestHeaderString({ payload, secret, timestamp })
  assert.ok(verifies({ scheme: "stripe" }, { "stripe-signature": theirs }, payload, secret, now))
  assert.ok(!verifies({ scheme: "stripe" }, { "stripe-signature": theirs }, payload, secret, now + 302_000))
  const ours = signedHeaders({ scheme: "stripe" }, Buffer.from(payload), secret, { id: "", at: now })
  assert.equal(webhooks.constructEvent(payload, ours["stripe-signature"] ?? "", secret).id, "evt_1")
})

test("GitLab's signing is that of Standard Webhooks", () => {
  // Its documentation: `whsec_` and 32 bytes in Base64, an id that a retry keeps, and `v1` signatures.
  const secret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`
  const now = Date.now()
  const id = "f5e5f430-f57b-4e6e-9fac-d9128cd7232f"
  const body = '{"object_kind":"push"}'
  const headers = {
    "webhook-id": id,
    "webhook-timestamp": String(Math.floor(now / 1000)),
    "webhook-signature": new Webhook(secret).sign(id, new Date(now), body),
    "x-gitlab-event": "Push Hook",
  }
  assert.ok(verifies({ scheme: "standard" }, headers, body, secret, now))
  assert.ok(!verifies({ scheme: "standard" }, headers, body, secret, now + 301_000))
})

test("GitLab sends the token itself", () => {
  const verify = { scheme: "gitlab" } as const
  assert.ok(verifies(verify, { "x-gitlab-token": "a-long-token-0123" }, "{}", "a-long-token-0123", 0))
  assert.ok(!verifies(verify, { "x-gitlab-token": "a-long-token-0124" }, "{}", "a-long-token-0123", 0))
  assert.ok(!verifies(verify, { "x-gitlab-token": "a" }, "{}", "a-long-token-0123", 0))
  assert.equal(readSignature(verify, {}, 0), null)
})

test("what tells deliveries apart", () => {
  const body = Buffer.from('{"id":"evt_1","event_id":"Ev1"}')
  const parsed = JSON.parse(body.toString("utf8")) as Record<string, string>
  const digest = /^sha256:[0-9a-f]{64}$/
  assert.equal(deliveryOf({ scheme: "standard" }, { "webhook-id": "msg_1" }, body, parsed), "msg_1")
  assert.equal(deliveryOf({ scheme: "stripe" }, {}, body, parsed), "evt_1")
  assert.equal(deliveryOf({ scheme: "slack" }, {}, body, parsed), "Ev1")
  assert.equal(deliveryOf({ scheme: "gitlab" }, { "idempotency-key": "k" }, body, parsed), "k")
  assert.match(deliveryOf({ scheme: "gitlab" }, {}, body, parsed), digest)
  assert.match(deliveryOf({ scheme: "github" }, { "x-github-delivery": "unsigned" }, body, parsed), digest)
  assert.match(deliveryOf({ scheme: "stripe" }, {}, body, [1]), digest)
  assert.match(deliveryOf({ scheme: "standard" }, { "webhook-id": "x".repeat(300) }, body, parsed), digest)
})

test("short and missing secrets are not taken", () => {
  const webhook = {
    kind: "webhook",
    name: "w",
    verify: { scheme: "github" },
    secrets: ["a", "b", "c", "toString"],
    when: null,
    input: [],
    headers: [],
    queries: [],
    reply_within_seconds: null,
  } as const
  assert.deepEqual(usableSecrets(webhook, { a: "0123456789abcdef", b: "short" }), ["0123456789abcdef"])
  assert.equal(whyUnusable("whsec_not base64 at all", { scheme: "standard" }) === null, false)
})

const schemes: readonly Verification[] = [
  { scheme: "standard" },
  { scheme: "github" },
  { scheme: "stripe" },
  { scheme: "slack" },
  { scheme: "gitlab" },
  { scheme: "hmac", header: "X-Own", prefix: "sig=", encoding: "base64", algorithm: "sha512" },
  { scheme: "hmac", header: "X-Own", prefix: "", encoding: "hex", algorithm: "sha256" },
]

test("what we sign we verify, over exactly these bytes; one changed byte or header is refused", () => {
  const bytes = fc.uint8Array({ minLength: 1, maxLength: 200 })
  fc.assert(
    fc.property(fc.constantFrom(...schemes), bytes, fc.nat(), fc.nat({ max: 7 }), (verify, body, place, bit) => {
      const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
      const headers = signedHeaders(verify, body, secret, { id: "msg_1", at: 1_700_000_000_000 })
      const signature = readSignature(verify, headers, 1_700_000_000_000)
      assert.ok(signature !== null && isSigned(verify, signature, body, ["another-secret-0123", secret]))
      assert.ok(!isSigned(verify, signature, body, []))
      if (verify.scheme === "gitlab") return
      const changed = Uint8Array.from(body)
      const at = place % body.length
      changed[at] = (changed[at] ?? 0) ^ (1 << bit)
      assert.ok(!isSigned(verify, signature, changed, [secret]))
    }),
  )
})

test("no header makes the reader throw, and none that is malformed is taken", () => {
  const names = [
    "webhook-id",
    "webhook-timestamp",
    "webhook-signature",
    "x-hub-signature-256",
    "stripe-signature",
    "x-slack-signature",
    "x-slack-request-timestamp",
    "x-own",
  ]
  const header = fc.oneof(
    fc.string(),
    fc.constantFrom("v1,", "v1=", "sha256=", "t=1,v1=zz", "sig=", "1700000000", "v0=00"),
  )
  fc.assert(
    fc.property(fc.constantFrom(...schemes), fc.dictionary(fc.constantFrom(...names), header), (verify, headers) => {
      const signature = readSignature(verify, headers, 1_700_000_000_000)
      if (signature === null) return
      assert.ok(!isSigned(verify, signature, Buffer.from("{}"), ["0123456789abcdef"]))
    }),
  )
})
