import assert from "node:assert/strict"
import { it } from "node:test"
import { LazyMap } from "./lazy-map.ts"
import { LazySet } from "./lazy-set.ts"

it("a late map does what a map does", () => {
  const map = new LazyMap<string, number>()
  assert.deepEqual([map.size, map.get("a"), map.has("a"), map.delete("a"), [...map]], [0, undefined, false, false, []])
  map.clear()
  map.set("a", 1).set("b", 2).set("a", 3)
  assert.deepEqual([...map], [...map.entries()])
  assert.deepEqual([[...map.keys()], [...map.values()], map.size, map.get("a")], [["a", "b"], [3, 2], 2, 3])
  const seen: [string, number][] = []
  map.forEach((value, key) => seen.push([key, value]))
  assert.deepEqual(seen, [...map])
  assert.deepEqual([map.delete("a"), map.has("a"), map.has("b")], [true, false, true])
  map.clear()
  assert.equal(map.size, 0)
})

it("a late set does what a set does", () => {
  const set = new LazySet<string>()
  assert.deepEqual([set.size, set.has("a"), set.delete("a"), [...set]], [0, false, false, []])
  set.add("a").add("b").add("a")
  assert.deepEqual([set.size, set.has("a"), [...set]], [2, true, ["a", "b"]])
  assert.deepEqual([set.delete("a"), [...set]], [true, ["b"]])
})
