import assert from "node:assert/strict"
import { test } from "node:test"
import { aboutError } from "./about-error.ts"

const secret = "canary-0123456789"

test("an error is described by its type, code and calls, never by its message", () => {
  const messages = [
    secret,
    `broken:\n    at ${secret} (file.ts:1:1)\n${secret}`,
    `\n    at ${secret}\n    at ${secret}`,
    "",
  ]
  for (const message of messages) {
    const error = Object.assign(new RangeError(message, { cause: new TypeError(message) }), { code: "ERR_TOO_MUCH" })
    const about = aboutError(error)
    assert.equal(about.type, "RangeError")
    assert.equal(about.code, "ERR_TOO_MUCH")
    assert.equal(about.cause?.type, "TypeError")
    assert.match(about.stack ?? "", /^ {4}at .*about-error\.test\.ts/)
    assert.ok(!JSON.stringify(about).includes(secret), JSON.stringify(about))
  }
})

test("a message that was changed later, a name or code that holds text, and values that are not errors", () => {
  const error = new Error(secret)
  error.message = "another"
  error.name = `Error ${secret}`
  assert.ok(!JSON.stringify(aboutError(Object.assign(error, { code: `x ${secret}` }))).includes(secret))
  assert.deepEqual(aboutError(secret), { type: "string" })
  assert.deepEqual(aboutError(null), { type: "object" })
  const circular = new Error(secret)
  circular.cause = circular
  assert.ok(!JSON.stringify(aboutError(circular)).includes(secret))
})
