import assert from "node:assert/strict"
import { test } from "node:test"
import { stopSignal } from "./stop-signal.ts"

test("the first signal asks, its echo is nothing, a later one ends the process", async (context) => {
  let now = 5000
  context.mock.method(performance, "now", () => now)
  const kill = context.mock.method(process, "kill", () => true)
  const stop = stopSignal()
  process.emit("SIGINT", "SIGINT")
  await stop.asked
  now += 900
  process.emit("SIGINT", "SIGINT")
  process.emit("SIGTERM", "SIGTERM")
  assert.equal(kill.mock.callCount(), 0)
  now += 200
  process.emit("SIGTERM", "SIGTERM")
  assert.deepEqual(kill.mock.calls[0]?.arguments, [process.pid, "SIGTERM"])
  assert.equal(process.listenerCount("SIGTERM"), 0)
  assert.equal(process.listenerCount("SIGINT"), 0)
})
