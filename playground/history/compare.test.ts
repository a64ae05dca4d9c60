import assert from "node:assert/strict"
import { test } from "node:test"
import type { Span } from "../../src/log/run-state.ts"
import { fc } from "../../test/support/fast-check.ts"
import { changedSteps, differences, lineChanges } from "./compare.ts"

test("differences by path, with what is missing on a side", () => {
  assert.deepEqual(differences({ a: 1, b: [1, 2], c: { d: "x" } }, { a: 1, b: [1, 3, 4], c: { d: "x", e: null } }), [
    { path: "b[1]", left: 2, right: 3 },
    { path: "b[2]", left: undefined, right: 4 },
    { path: "c.e", left: undefined, right: null },
  ])
  assert.deepEqual(differences({ a: 1 }, { a: 1 }), [])
  assert.deepEqual(differences({ a: {} }, { a: [] }), [{ path: "a", left: {}, right: [] }])
  assert.deepEqual(differences(null, { a: 1 }), [{ path: "the whole", left: null, right: { a: 1 } }])
})

test("lines that only one side has", () => {
  assert.deepEqual(lineChanges("a\nb\nc", "a\nx\nc\nd"), [
    { side: "left", line: 2, text: "b" },
    { side: "right", line: 2, text: "x" },
    { side: "right", line: 4, text: "d" },
  ])
  assert.deepEqual(lineChanges("a", "a"), [])
})

test("taking out what is only left, and putting in what is only right, makes one text of the other", () => {
  const text = fc.array(fc.constantFrom("a", "b", "c", ""), { maxLength: 8 }).map((lines) => lines.join("\n"))
  fc.assert(
    fc.property(text, text, (left, right) => {
      const changes = lineChanges(left, right)
      const gone = new Set(changes.filter(({ side }) => side === "left").map(({ line }) => line))
      const kept = left.split("\n").filter((_, at) => !gone.has(at + 1))
      for (const { line, text: added } of changes.filter(({ side }) => side === "right"))
        kept.splice(line - 1, 0, added)
      assert.deepEqual(kept, right.split("\n"))
    }),
  )
})

test("steps whose instruction or output differs, by item of a loop", () => {
  const span = (kind: Span["kind"], name: string, more: Partial<Span>): Span => ({
    kind,
    name,
    parent: null,
    start: 0,
    end: 1,
    state: "completed",
    ...more,
  })
  const left = [
    span("agent", "same", { instruction: "a", output: { x: 1 } }),
    span("iteration", "each", { iteration: 0, instruction: "one", output: "x" }),
    span("iteration", "each", { iteration: 1, instruction: "two", output: "y" }),
    span("model_call", "each", { iteration: 1, output: "not a step" }),
  ]
  const right = [
    span("agent", "same", { instruction: "a", output: { x: 1 } }),
    span("iteration", "each", { iteration: 0, instruction: "one", output: "z" }),
    span("agent", "more", { instruction: "b" }),
  ]
  assert.deepEqual(changedSteps(left, right), [
    { id: "agent.each[0]", left: { instruction: "one", output: "x" }, right: { instruction: "one", output: "z" } },
    { id: "agent.each[1]", left: { instruction: "two", output: "y" }, right: {} },
    { id: "agent.more", left: {}, right: { instruction: "b" } },
  ])
  // What a re-run took over was not asked again, which is no other instruction.
  assert.deepEqual(
    changedSteps([left[0] ?? assert.fail()], [span("agent", "same", { reused: true, output: { x: 1 } })]),
    [],
  )
})
