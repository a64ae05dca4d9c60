import assert from "node:assert/strict"
import { test } from "node:test"
import { Progress, wantsColour } from "./terminal.ts"

test("colour: FORCE_COLOR, then NO_COLOR, then the terminal", () => {
  assert.equal(wantsColour(true, {}), true)
  assert.equal(wantsColour(false, {}), false)
  assert.equal(wantsColour(undefined, {}), false)
  assert.equal(wantsColour(true, { TERM: "dumb" }), false)
  assert.equal(wantsColour(true, { NO_COLOR: "1" }), false)
  assert.equal(wantsColour(true, { NO_COLOR: "" }), true)
  assert.equal(wantsColour(false, { FORCE_COLOR: "1" }), true)
  assert.equal(wantsColour(true, { FORCE_COLOR: "0" }), false)
  assert.equal(wantsColour(false, { FORCE_COLOR: "1", NO_COLOR: "1" }), true)
})

test("progress shows on a terminal once a job takes a while, and clears itself", (context) => {
  let now = 0
  context.mock.method(performance, "now", () => now)
  const written: string[] = []
  const stream = { isTTY: true, write: (text: string) => written.push(text) > 0 }
  const progress = new Progress(stream, "Checked", 100)
  progress.at(1)
  now = 301
  progress.at(2)
  now = 350
  progress.at(3)
  now = 402
  progress.at(4)
  progress.clear()
  progress.clear()
  assert.deepEqual(written, ["\r\u001b[KChecked 2 of 100 files", "\r\u001b[KChecked 4 of 100 files", "\r\u001b[K"])

  const silent: string[] = []
  const piped = new Progress({ isTTY: false, write: (text: string) => silent.push(text) > 0 }, "Checked", 100)
  now = 10_000
  piped.at(50)
  piped.clear()
  assert.deepEqual(silent, [])
})
