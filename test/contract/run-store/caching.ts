import assert from "node:assert/strict"
import type { JsonValue } from "../../../src/base/json-value.ts"
import { from, type OnBench } from "./material.ts"

const hour = 3_600_000

export function caching(onBench: OnBench): void {
  onBench("what is put can be got until its time is up", async ({ store, other, clock }) => {
    const value: JsonValue = { output: { text: "\u0000 🦉 \ud800" }, history: [1, null, true] }
    await store.cache.put("ada", "tenant-1", "h1", value, hour)
    assert.deepEqual(await other.cache.get("ada", "tenant-1", "h1"), value)
    clock.advance(hour - 1)
    assert.deepEqual(await other.cache.get("ada", "tenant-1", "h1"), value)
    clock.advance(1)
    assert.equal(await other.cache.get("ada", "tenant-1", "h1"), undefined)
  })

  onBench("null is a value, nothing is undefined", async ({ store, other }) => {
    await store.cache.put("", "k", "h", null, hour)
    assert.equal(await other.cache.get("", "k", "h"), null)
    assert.equal(await other.cache.get("", "k", "other"), undefined)
    assert.equal(await other.cache.get("", "other", "h"), undefined)
  })

  onBench("putting again replaces, its time included", async ({ store, other, clock }) => {
    await store.cache.put("", "k", "h", "old", hour)
    clock.advance(hour / 2)
    await other.cache.put("", "k", "h", "new", hour)
    clock.advance(hour / 2)
    assert.equal(await store.cache.get("", "k", "h"), "new")
    clock.advance(hour / 2)
    assert.equal(await store.cache.get("", "k", "h"), undefined)
  })

  onBench("callers and keys are apart", async ({ store, other }) => {
    await store.cache.put("ada", "k", "h", "ada's", hour)
    await store.cache.put("bob", "k", "h", "bob's", hour)
    await store.cache.put("ad", "ak", "h", "ad's", hour)
    await store.cache.put("ada", "k2", "h", "second", hour)
    assert.equal(await other.cache.purge("ada", "k"), 1)
    assert.equal(await store.cache.get("ada", "k", "h"), undefined)
    assert.equal(await store.cache.get("bob", "k", "h"), "bob's")
    assert.equal(await store.cache.get("ad", "ak", "h"), "ad's")
    assert.equal(await store.cache.get("ada", "k2", "h"), "second")
  })

  onBench("purging counts what lived", async ({ store, other, clock }) => {
    for (const n of from(0, 5)) await store.cache.put("", "k", `short ${n}`, n, hour)
    for (const n of from(0, 7)) await store.cache.put("", "k", `long ${n}`, n, hour * 2)
    clock.advance(hour)
    assert.equal(await other.cache.purge("", "k"), 7)
    assert.equal(await other.cache.purge("", "k"), 0)
    assert.equal(await store.cache.get("", "k", "long 1"), undefined)
    await store.cache.put("", "k", "long 1", "again", hour)
    assert.equal(await store.cache.get("", "k", "long 1"), "again")
  })

  onBench("a value is a copy", async ({ store }) => {
    const value = { list: [1] }
    await store.cache.put("", "k", "h", value, hour)
    value.list.push(2)
    const got = (await store.cache.get("", "k", "h")) as typeof value
    assert.deepEqual(got, { list: [1] })
    got.list.push(3)
    assert.deepEqual(await store.cache.get("", "k", "h"), { list: [1] })
  })

  onBench("large values and many at once", async ({ store, other }) => {
    const large = "🦉".repeat(500_000)
    await Promise.all([
      store.cache.put("", "k", "large", large, hour),
      ...from(0, 200).map((n) => store.cache.put("", "k", `h${n}`, { n }, hour)),
    ])
    assert.equal(await other.cache.get("", "k", "large"), large)
    assert.deepEqual(await other.cache.get("", "k", "h150"), { n: 150 })
    assert.equal(await other.cache.purge("", "k"), 201)
  })
}
