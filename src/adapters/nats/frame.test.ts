import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import { test } from "node:test"
import { StoreFailure } from "../../ports/store.ts"
import { cutPart, packFrame, unpackFrame } from "./frame.ts"

test("a frame comes back as it was packed", () => {
  for (const parts of [[], [Buffer.alloc(0)], [randomBytes(7), Buffer.alloc(0), randomBytes(70_000)]]) {
    const facts = { kind: "events", last: 7, text: "🦉" }
    const frame = unpackFrame("s", packFrame(facts, parts))
    assert.deepEqual(frame.facts, facts)
    assert.deepEqual(
      frame.parts.map((part) => Buffer.from(part)),
      parts,
    )
  }
})

test("a frame that was cut short, or is something else, is a failure with its subject", () => {
  const whole = Buffer.from(packFrame({ a: 1 }, [randomBytes(20)]))
  for (const bytes of [
    Buffer.alloc(0),
    Buffer.from("hello"),
    whole.subarray(0, 8),
    whole.subarray(0, whole.length - 1),
  ]) {
    assert.throws(
      () => unpackFrame("wire.log.x.1", bytes),
      (error) => error instanceof StoreFailure && /wire\.log\.x\.1/.test(error.message),
    )
  }
})

test("pieces join to the whole", () => {
  const whole = randomBytes(1_000)
  for (const size of [1, 333, 999, 1_000, 5_000]) assert.deepEqual(Buffer.concat(cutPart(whole, size)), whole)
})
