import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import { test } from "node:test"
import { StoreFailure } from "../../ports/store.ts"
import { cutPart, packFrame, unpackFrame } from "./frame.ts"
import type { SaidLease } from "./leases.ts"

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

// From the first release on never to be changed.
const earlier = {
  events:
    "020000005d7b226e6f6e6365223a22626d3975593256756232356a222c226b696e64223a226576656e7473222c2266656e6365223a332c2273657373696f6e22" +
    "3a226332567a63326c766267222c226c617374223a372c22656e64223a6e756c6c7d0000001000112233445566778899aabbccddeeff000000067365616c6564",
  alive: "02000000297b2268656c64223a5b5b2272756e2d31222c312c305d2c5b2272756e2d32222c342c323530305d5d7d",
}

test("frames of an earlier release are read", () => {
  const events = unpackFrame<Record<string, unknown>>("wire.log.x.1", Buffer.from(earlier.events, "hex"))
  assert.deepEqual(events.facts, {
    nonce: "bm9uY2Vub25j",
    kind: "events",
    fence: 3,
    session: "c2Vzc2lvbg",
    last: 7,
    end: null,
  })
  assert.deepEqual(
    events.parts.map((part) => Buffer.from(part).toString("hex")),
    ["00112233445566778899aabbccddeeff", Buffer.from("sealed").toString("hex")],
  )
  const alive = unpackFrame<{ held: SaidLease[] }>("wire.alive.x", Buffer.from(earlier.alive, "hex"))
  assert.deepEqual(alive.facts.held, [
    ["run-1", 1, 0],
    ["run-2", 4, 2_500],
  ])
})

test("what this release writes, an earlier one reads: the same layout, under the same version", () => {
  const { facts, parts } = unpackFrame<Record<string, unknown>>("s", Buffer.from(earlier.events, "hex"))
  assert.equal(Buffer.from(packFrame(facts, parts)).toString("hex"), earlier.events)
})

test("a frame of a development version is refused, and says what to do", () => {
  const old = Buffer.from(packFrame({}, []))
  old[0] = 1
  assert.throws(
    () => unpackFrame("wire.keys.mark", old),
    (error) =>
      error instanceof StoreFailure && /development version of Wireworks.*WIRE_NATS_PREFIX/.test(error.message),
  )
})

test("frames of the next release are read: facts and parts that are new are for those who know them", () => {
  const next = Buffer.from(
    packFrame({ kind: "events", last: 7, colour: "blue" }, [Buffer.from("a"), Buffer.from("new")]),
  )
  next[0] = 3
  const { facts, parts } = unpackFrame<{ kind: string; last: number }>("s", next)
  assert.deepEqual([facts.kind, facts.last], ["events", 7])
  assert.equal(Buffer.from(parts[0] ?? []).toString(), "a")
})

test("a frame of a release after that says who has to be upgraded", () => {
  const later = Buffer.from(packFrame({}, []))
  later[0] = 4
  assert.throws(
    () => unpackFrame("wire.log.x.1", later),
    (error) => error instanceof StoreFailure && /newer release of Wireworks .*upgrade this replica/.test(error.message),
  )
})
