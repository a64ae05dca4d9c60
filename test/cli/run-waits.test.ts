import assert from "node:assert/strict"
import { join } from "node:path"
import { test } from "node:test"
import { folderWith, runWire } from "./run-wire.ts"

const order = `input { order: string }
wait cooling { seconds: 86_400 }
wait paid { after: wait.cooling event: "payment.settled" key: input.order output { amount: number note: maybe string } }
output { amount: wait.paid.amount when: wait.cooling }
`

const folder = (): string => folderWith({ "order.wire": order })
const run = (...flags: string[]): ReturnType<typeof runWire> =>
  runWire(["run", join(folder(), "order.wire"), "--set", "order=A-17", ...flags])

test("wire run is given events, and skips times", async () => {
  const { code, out, err } = await run("--skip-waits", "--event", 'paid={"amount":5}')
  assert.equal(code, 0, err)
  assert.equal((JSON.parse(out) as { amount: number }).amount, 5)
})

test("an event that nobody gives ends the command with 4, which says which", async () => {
  const { code, err } = await run("--skip-waits")
  assert.equal(code, 4, err)
  assert.match(err, /wait\.paid needs the event payment\.settled/)
  assert.match(err, /--event paid=/)
})

test("an event that does not fit, or that no wait is for, is a wrong command line", async () => {
  for (const event of ['paid={"amount":"x"}', "paid=no json", 'cooling={"a":1}', 'other={"a":1}']) {
    const { code, err } = await run("--event", event)
    assert.equal(code, 2, err)
    assert.match(err, /--event/)
  }
})

test("tests give events and times; a time passes at once, and an event that is not given fails the test", async () => {
  const tests = `tests "./order.wire"
test "given" {
    input { order: "A" }
    given wait.paid: { amount: 5, note: null }
    given wait.cooling: "2026-01-02T00:00:00Z"
    expect output.amount == 5 && output.when == "2026-01-02T00:00:00Z"
}
test "passes" {
    input { order: "A" }
    given wait.paid: { amount: 7, note: null }
    expect output.amount == 7 && output.when > "2026-01-01T00:00:00Z"
}
`
  const missing = `tests "./order.wire"
test "missing" {
    input { order: "A" }
    expect output.amount == 5
}
`
  const directory = folderWith({ "order.wire": order, "order.test.wire": tests, "missing.test.wire": missing })
  const good = await runWire(["test", join(directory, "order.test.wire")])
  assert.equal(good.code, 0, good.out + good.err)
  const bad = await runWire(["test", join(directory, "missing.test.wire")])
  assert.equal(bad.code, 1)
  assert.match(bad.out + bad.err, /wait\.paid/)
})

test("wire mcp serve refuses a workflow that waits", async () => {
  const { code, err } = await runWire(["mcp", "serve", join(folder(), "order.wire")])
  assert.equal(code, 1)
  assert.match(err, /`wait`/)
})
