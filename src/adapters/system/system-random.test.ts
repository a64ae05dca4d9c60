import assert from "node:assert/strict"
import { test } from "node:test"
import { systemRandom } from "./system-random.ts"

test("no id begins with a dash, whatever the time is: a command line would take it for an option", (t) => {
  const threeDays = 2 ** 24 * 16
  t.mock.timers.enable({ apis: ["Date"] })
  for (let part = 0; part < 4_096; part++) {
    t.mock.timers.setTime((threeDays / 4_096) * part)
    assert.match(systemRandom.id(), /^[A-Za-z0-9_][\w-]{25}$/)
  }
})
