import assert from "node:assert/strict"
import { test } from "node:test"
import { limitFacts } from "./limit-words.ts"

test("the limits of a run, and of its agents, with what is used of each", () => {
  const facts = limitFacts({
    cost: { limit: 0.5, used: 0.000_05 },
    tokens: { limit: 200_000, used: 100_000 },
    agents: { greet: { time_seconds: { limit: 60, used: 90.04 } } },
  })
  assert.deepEqual(facts, [
    { name: "cost", text: "0.00005 of 0.5", share: 0.0001 },
    { name: "tokens", text: "100,000 of 200,000", share: 0.5 },
    { name: "greet: time", text: "90 s of 60 s", share: 1 },
  ])
  assert.deepEqual(limitFacts({}), [])
})
