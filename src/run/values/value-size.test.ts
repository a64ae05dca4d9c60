import assert from "node:assert/strict"
import { Buffer } from "node:buffer"
import { test } from "node:test"
import { fc } from "../../../test/support/fast-check.ts"
import type { JsonValue } from "../../base/json-value.ts"
import { bytesOver, sizeOf } from "./value-size.ts"

test("the size is that of the JSON text", () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 6 }), (found) => {
      const value = found as JsonValue
      assert.equal(sizeOf(value).bytes, Buffer.byteLength(JSON.stringify(value), "utf8"))
      // Also when parts of it were measured before.
      assert.equal(
        sizeOf([value, { a: value }]).bytes,
        Buffer.byteLength(JSON.stringify([value, { a: value }]), "utf8"),
      )
    }),
  )
  for (const text of [
    "",
    "plain",
    'a"b\\',
    "\u0000\u001f",
    "é",
    "€",
    "\ud83d\ude00",
    "\ud83d",
    "\u007f",
    "\ud83d\ud83d\ude00\ude00",
    `${"x".repeat(16_383)}\ud83d\ude00\ud83d"\u0001\n€`,
  ]) {
    assert.equal(sizeOf(text).bytes, Buffer.byteLength(JSON.stringify(text), "utf8"), JSON.stringify(text))
  }
})

test("shared parts are measured once, however often they occur", () => {
  let shared: JsonValue = ["x".repeat(2000)]
  for (let level = 0; level < 40; level++) shared = [shared, shared, shared, shared]
  const { bytes, depth, visits } = sizeOf(shared)
  assert.ok(bytes > 4 ** 40 * 2000)
  assert.equal(depth, 41)
  assert.ok(visits < 1000, String(visits))
})

test("what is over the limit is not measured to its end", () => {
  const long = Array.from({ length: 100_000 }, () => "x".repeat(100))
  assert.ok(sizeOf(long, 1000).bytes > 1000)
  assert.ok(sizeOf(long, 1000).visits < 20)
  assert.equal(bytesOver(long, 1000), 100_000 * 103 + 1)
})
