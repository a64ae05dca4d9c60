import assert from "node:assert/strict"
import { createHash } from "node:crypto"
import { test } from "node:test"
import fc from "fast-check"
import type { JsonValue } from "../base/json-value.ts"
import { joinParts, shareParts } from "./stored-requests.ts"

const hashOf = (text: string): string => createHash("sha256").update(text).digest("base64url").slice(0, 22)

test("whatever is taken apart is put together again, byte for byte", () => {
  const long = fc.string({ minLength: 150, maxLength: 400 })
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: "small" },
      fc.string(),
      long,
      fc.integer(),
      fc.boolean(),
      fc.constant(null),
      fc.array(tie("value"), { maxLength: 4 }),
      fc.dictionary(fc.oneof(fc.string(), fc.constant("$part")), tie("value"), { maxKeys: 4 }),
    ),
  }))
  fc.assert(
    fc.property(value, (body) => {
      // Requests are JSON, which has no -0 and no `__proto__` of its own.
      const sent = JSON.parse(JSON.stringify(body)) as JsonValue
      const { body: short, parts } = shareParts(sent, hashOf)
      assert.equal(JSON.stringify(joinParts(short, parts)), JSON.stringify(sent))
    }),
    { numRuns: 200 },
  )
})

test("what a later request repeats is the same part", () => {
  const said = { role: "user", content: "x".repeat(1_000) }
  const first = shareParts({ input: [said] }, hashOf)
  const second = shareParts({ input: [said, { role: "assistant", content: "y".repeat(1_000) }] }, hashOf)
  for (const hash of first.parts.keys()) assert.ok(second.parts.has(hash))
  assert.ok(JSON.stringify(second.body).length < 300)
})
