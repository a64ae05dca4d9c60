import assert from "node:assert/strict"
import { test } from "node:test"
import { Health } from "../../run/health.ts"
import { systemClock } from "./system-clock.ts"
import { watchDescriptors } from "./watch-descriptors.ts"

test("a connection that met no file descriptor is logged once, and its end, however short it was", async (t) => {
  const lines: string[] = []
  const over = Promise.withResolvers<void>()
  const health = new Health(systemClock, {
    error: (about, message) => lines.push(`${String(about["trouble"])}: ${message}`),
    info(_, message) {
      lines.push(message)
      over.resolve()
    },
  })
  const watch = watchDescriptors(health)
  t.after(() => watch.stop())
  for (let times = 0; times < 100; times++) watch.met()
  assert.equal(health.trouble?.kind, "descriptors")
  // The timer of the watch alone does not keep the process.
  const kept = setInterval(() => undefined, 1000)
  await over.promise
  clearInterval(kept)
  assert.deepEqual(lines, [
    "descriptors: A connection could not be opened: no file descriptor was left",
    "there are file descriptors again",
  ])
})
