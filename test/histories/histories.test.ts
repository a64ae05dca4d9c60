import { showSpent } from "../../src/log/usage.ts"
import assert from "node:assert/strict"
import { globSync, readFileSync, writeFileSync } from "node:fs"
import { basename } from "node:path"
import { test } from "node:test"
import type { LogEvent } from "../../src/log/events.ts"
import { isTerminal } from "../../src/log/events.ts"
import type { RunState, SeenEvent } from "../../src/log/run-state.ts"
import { reduce } from "../../src/log/reduce.ts"
import { initialState } from "../../src/log/run-state.ts"
import { LogFold } from "../../src/log/fold.ts"

// Logs of runs. From the first release on, every later one must read them to the same state: a history is added, never changed.
// A new one `x.jsonl` (an event a line, `kept` included) gets its `x.state.json` by `UPDATE=1`; review it.

const names = globSync(`${import.meta.dirname}/*.jsonl`).map((path) => basename(path, ".jsonl"))

for (const name of names.toSorted()) {
  const path = `${import.meta.dirname}/${name}`
  const lines = readFileSync(`${path}.jsonl`, "utf8").trimEnd().split("\n")
  const events = lines.map((line) => JSON.parse(line) as LogEvent)
  const seen = events.map(({ id, type, data }) => ({ id, type, data }) as SeenEvent)

  test(`${name}: reduces to its state`, () => {
    const state = withoutIndex(seen.reduce(reduce, initialState()))
    if (process.env["UPDATE"] !== undefined) writeFileSync(`${path}.state.json`, `${JSON.stringify(state, null, 2)}\n`)
    assert.deepEqual(state, JSON.parse(readFileSync(`${path}.state.json`, "utf8")))
  })

  test(`${name}: every state on the way is JSON, and an event that comes twice changes nothing`, () => {
    let state = initialState()
    for (const [position, event] of seen.entries()) {
      state = reduce(JSON.parse(JSON.stringify(state)) as RunState, event)
      const before = JSON.stringify(state)
      for (const earlier of seen.slice(0, position + 1)) reduce(state, earlier)
      assert.equal(JSON.stringify(state), before)
    }
    assert.deepEqual(withoutIndex(state), withoutIndex(seen.reduce(reduce, initialState())))
  })

  test(`${name}: an ended run has nothing open, and usage is the sum of its parts`, () => {
    const state = seen.reduce(reduce, initialState())
    const ended = seen.some(({ type }) => isTerminal(type))
    assert.equal(state.status === "running", !ended)
    if (!ended) return
    assert.deepEqual(
      state.spans.filter(({ end }) => end === null),
      [],
    )
    assert.deepEqual(
      state.nodes.filter((node) => node.state === "running"),
      [],
    )
    const sum = state.nodes.reduce((total, node) => total + node.usage.input_tokens, 0)
    assert.equal(state.usage.input_tokens, sum)
    for (const { parent } of state.spans) assert.ok(parent === null || state.spans[parent] !== undefined)
  })

  test(`${name}: can be continued from`, () => {
    const reader = new LogFold()
    for (const event of events) reader.take(event)
    const { past } = reader
    assert.equal(past.lastId, events.length)
    const completed = events.filter(({ type }) => type === "agent_completed")
    assert.equal([...past.agents.values()].filter((agent) => agent.completed !== null).length, completed.length)
    assert.deepEqual(
      showSpent(past.spent),
      seen.filter(({ type }) => !isTerminal(type)).reduce(reduce, initialState()).usage,
    )
  })
}

function withoutIndex(state: RunState): unknown {
  const { index: _, ...rest } = JSON.parse(JSON.stringify(state)) as RunState
  return rest
}
