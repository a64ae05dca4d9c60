import { Screen } from "./screen.ts"
import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import type { LogEvent } from "../../log/events.ts"
import type { RunState } from "../../log/run-state.ts"
import { reduce } from "../../log/reduce.ts"
import { initialState } from "../../log/run-state.ts"
import { eventLine, LiveLines, progressLines, seconds } from "./run-progress.ts"
import { paletteFor } from "./terminal.ts"
import { cellWidth } from "./cell-width.ts"

const plain = paletteFor(new Screen({ write: () => true }), {})

function history(name: string, upTo = Number.POSITIVE_INFINITY): RunState {
  const path = join(import.meta.dirname, "..", "..", "..", "test", "histories", `${name}.jsonl`)
  const events = readFileSync(path, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as LogEvent)
  return events.slice(0, upTo).reduce(reduce, initialState())
}

test("a line for each agent, with time, progress and tokens", () => {
  const lines = progressLines(history("everything"), 0, { columns: 80, rows: 24 }, plain)
  assert.deepEqual(lines, [
    "✓ each      0.2 s, 3 of 3, 45 tokens",
    "✓ research  0.1 s, 27 tokens, 2 retries",
    "✓ go_on     0.0 s, 15 tokens",
    "✓ sum       0.0 s, 25 tokens",
  ])
  const failed = progressLines(history("failed"), 0, { columns: 80, rows: 24 }, plain)
  assert.deepEqual(
    failed.map((line) => line.slice(0, 6)),
    ["– a   ", "✗ bad ", "✓ loop"],
  )
})

test("agents under way have a spinner and their time so far; a small screen shows those first", () => {
  const state = history("interrupted")
  const now = (state.started_at ?? 0) + 61_000
  const running = state.nodes.find((node) => node.state === "running")
  const lines = progressLines(state, now, { columns: 80, rows: 24 }, plain)
  assert.match(lines.find((line) => line.includes(running?.name ?? "?")) ?? "", /^[⠋-⠿] \w+ +1 min \d s/)
  const few = progressLines(state, now, { columns: 80, rows: 4 }, plain)
  assert.ok(few.length <= 2)
})

test("no line is wider than the screen", () => {
  for (const columns of [10, 20, 40]) {
    for (const line of progressLines(history("everything"), 0, { columns, rows: 24 }, plain)) {
      assert.ok(cellWidth(line) <= columns, line)
    }
  }
})

test("live lines are drawn over themselves, and can be kept", () => {
  let written = ""
  const live = new LiveLines(new Screen({ columns: 80, rows: 24, write: (text) => ((written += text), true) }))
  live.draw(["a", "b"])
  live.draw(["c"])
  assert.equal(written, "a\u001b[K\nb\u001b[K\n\u001b[J\u001b[2A\rc\u001b[K\n\u001b[J")
  live.keep()
  written = ""
  live.clear()
  assert.equal(written, "")
})

test("times", () => {
  assert.deepEqual([40, 1250, 59_900, 61_000].map(seconds), ["0.0 s", "1.3 s", "59.9 s", "1 min 1 s"])
})

test("says how many questions of a loop are answered, where lines are only ever added", () => {
  const at = "2026-11-15T01:00:00.000Z"
  const ask = (id: number, name: string, iteration?: number): LogEvent => {
    const question = {
      id: `q${id}`,
      run_id: "r",
      kind: "ask",
      name,
      question: "?",
      show: null,
      to: null,
      schema: {},
    } as const
    const loop = iteration === undefined ? {} : { iteration }
    return { id, type: "question_asked", at, data: { ...question, ...loop, asked_at: at, expires_at: at, at } }
  }
  const answered = (id: number, question: number, name: string): LogEvent => {
    const data = { id: `q${question}`, name, answer: {}, answered_by: { caller: null, by: null }, at }
    return { id, type: "question_answered", at, data }
  }
  const events = [ask(1, "page", 0), ask(2, "page", 1), ask(3, "once"), answered(4, 2, "page"), answered(5, 3, "once")]
  const state = initialState()
  const lines = events.map((event) => eventLine(event, reduce(state, event)))
  assert.deepEqual(lines, [null, null, null, "page: 1 of 2 answered", null])
})

test("what happens to an item of a loop, or to a call in a list, names the item", () => {
  const about = { at: "2026-11-15T01:00:00.000Z", id: 1 }
  const error = { kind: "provider_error", message: "HTTP 500", issues: [] }
  const translate = { agent: "translate", duration_ms: 212, calls: [], error }
  const seen = (type: string, data: object): string | null =>
    eventLine({ ...about, type, data: { ...data, at: about.at } } as unknown as LogEvent, initialState())
  assert.equal(seen("agent_failed", { ...translate, iteration: 3 }), "translate[3]: failed after 0.2 s: HTTP 500")
  assert.equal(seen("agent_failed", translate), "translate: failed after 0.2 s: HTTP 500")
  assert.equal(
    seen("agent_retried", { agent: "translate", iteration: 0, reason: "HTTP 500" }),
    "translate[0]: trying again (HTTP 500)",
  )
  const fallback = { agent: "translate", iteration: 2, from: "a", to: "b", error }
  assert.equal(seen("agent_fallback", fallback), "translate[2]: model.a failed, model.b goes on (HTTP 500)")
  const call = { dynamic: "found", items: [4, 1], tool: "search", error }
  assert.equal(seen("tool_call_failed", call), "found[4][1]: search failed (HTTP 500)")
  const inside = { ...translate, iteration: 1, scope: "dynamic.all[2]" }
  assert.equal(seen("agent_failed", inside), "dynamic.all[2]/translate[1]: failed after 0.2 s: HTTP 500")
})
