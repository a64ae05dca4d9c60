import { Screen } from "./screen.ts"
import assert from "node:assert/strict"
import { test } from "node:test"
import { Output, wantsColour } from "./terminal.ts"

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

test("progress shows on a terminal once a job takes a while, and gives way to what is written", (context) => {
  let now = 0
  context.mock.method(performance, "now", () => now)
  const written: string[] = []
  const stream = { isTTY: true, write: (text: string) => written.push(text) > 0 }
  const output = new Output(new Screen(stream), new Screen(stream))
  output.progress("Checked", 1, 100)
  now = 301
  output.progress("Checked", 2, 100)
  now = 350
  output.progress("Checked", 3, 100)
  now = 402
  output.progress("Checked", 4, 100)
  output.out("a problem")
  output.err("another")
  output.clearProgress()
  const line = (done: number) => `\r\u001b[KChecked ${done} of 100 files`
  assert.deepEqual(written, [line(2), line(4), "\r\u001b[K", "a problem\n", "another\n"])
})

test("no progress where it is not read by a person, or over in a moment", (context) => {
  // One mock: of two, the first would be left behind for the tests that share the process.
  let now = 0
  context.mock.method(performance, "now", () => now)
  const written: string[] = []
  const write = (text: string) => written.push(text) > 0
  const piped = new Output(new Screen({ write }), new Screen({ write, isTTY: false }))
  const few = new Output(new Screen({ write }), new Screen({ write, isTTY: true }))
  now = 10_000
  piped.progress("Checked", 50, 100)
  few.progress("Checked", 5, 10)
  assert.deepEqual(written, [])
})
