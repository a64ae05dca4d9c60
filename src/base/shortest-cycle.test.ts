import assert from "node:assert/strict"
import { test } from "node:test"
import { assertCpuBelow } from "../../test/support/cpu-time.ts"
import { shortestCycle } from "./shortest-cycle.ts"
import { strongComponents } from "./strong-components.ts"

const graph: Readonly<Record<string, string>> = { a: "bc", b: "c", c: "a", d: "d", e: "a", f: "" }
const next = (node: string): Iterable<string> => graph[node] ?? ""

test("the shortest way back is found, both ends included", () => {
  assert.deepEqual(shortestCycle("a", next), ["a", "c", "a"])
  assert.deepEqual(shortestCycle("b", next), ["b", "c", "a", "b"])
  assert.deepEqual(shortestCycle("d", next), ["d", "d"])
})

test("a node that is in no circle stands alone", () => {
  assert.deepEqual(shortestCycle("e", next), ["e"])
  assert.deepEqual(shortestCycle("f", next), ["f"])
})

test("components come after all that they reach", () => {
  const components = strongComponents(Object.keys(graph), next).map((component) => component.toSorted().join(""))
  assert.deepEqual(components, ["abc", "d", "e", "f"])
  assert.deepEqual(strongComponents("fea", next).at(-1), ["e"])
})

test("long chains and long circles take linear time, and no stack", async () => {
  const length = 20_000
  const chain = Array.from({ length }, (_, index) => index)
  await assertCpuBelow(10_000, () => {
    assert.equal(strongComponents(chain, (node) => (node + 1 < length ? [node + 1] : [])).length, length)
    assert.equal(strongComponents(chain, (node) => [(node + 1) % length]).length, 1)
    assert.equal(shortestCycle(0, (node) => [(node + 1) % length]).length, length + 1)
  })
})
