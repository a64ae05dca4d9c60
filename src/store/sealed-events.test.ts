import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import { test } from "node:test"
import type { LogEvent } from "../log/events.ts"
import { createMasterKey } from "../adapters/vault/vault.ts"
import { openEvents, openWithKept, sealEvents, textOfEvents } from "./sealed-events.ts"

const masterKey = createMasterKey(randomBytes(32))
const vault = masterKey.unlock(masterKey.newRecord())
assert.ok(vault !== null)
const { key } = vault.newKey("run r")

const at = "2026-11-16T00:00:00.000Z"
const plain = { id: 1, type: "workflow_planned", at, data: { text: "a\nb\u2028c" } } as unknown as LogEvent
const withKept = (kept: unknown): LogEvent =>
  ({ id: 2, type: "agent_completed", at, data: { output: {} }, cost: 3, kept }) as unknown as LogEvent

const shown = [plain, { id: 2, type: "agent_completed", at, data: { output: {} }, cost: 3 }]

for (const [what, kept, isApart] of [
  ["a little", { facts: "line\nbreak" }, false],
  ["much", { facts: "x".repeat(10_000) }, true],
] as const) {
  test(`events with ${what} beside them are read with it and without it`, () => {
    const events = [plain, withKept(kept)]
    const written = textOfEvents(events, 2)
    assert.deepEqual(JSON.parse(written.text), shown)
    for (const request of [null, '{"source":"a"}']) {
      const [body, apart] = sealEvents(key, written, request)
      assert.equal(apart !== null, isApart)
      assert.deepEqual(openEvents(key, 2, body), shown)
      assert.deepEqual(openWithKept(key, 2, body, apart), events)
    }
  })
}

test("events with nothing beside them", () => {
  for (const request of [null, '{"source":"a"}']) {
    const [body, apart] = sealEvents(key, textOfEvents([plain], 1), request)
    assert.equal(apart, null)
    assert.deepEqual(openEvents(key, 1, body), [plain])
    assert.deepEqual(openWithKept(key, 1, body, null), [plain])
  }
})
