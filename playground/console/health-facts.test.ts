import assert from "node:assert/strict"
import { test } from "node:test"
import { healthFacts, readMetrics } from "./health-facts.ts"

const text = `# HELP wire_runs_active Runs under way
wire_runs_active 3
wire_questions_open{kind="ask"} 2
wire_questions_open{kind="approval"} 1
wire_clock_offset_seconds -3600.25
go_version{v="1"} NaN
`

test("the page of health has what the metrics say, summed over their labels", () => {
  const facts = healthFacts(readMetrics(text))
  assert.deepEqual(
    facts.map(({ name, value, state }) => [name, value, state]),
    [
      ["Runs under way", "3", "plain"],
      ["Open questions", "3", "plain"],
      ["Clock, against the store's", "-3600.250 s", "wrong"],
    ],
  )
})
