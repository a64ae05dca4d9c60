import type { SourceText } from "../source/source-files.ts"
import assert from "node:assert/strict"
import { test } from "node:test"
import { PlanCache } from "./plan-cache.ts"

interface Asked {
  readonly share: string
  readonly resolve: (value: { readonly of: string }) => void
  readonly reject: (error: Error) => void
}

/** A cache whose compiler answers when the test says so. */
function cacheOf(): { readonly cache: PlanCache<{ readonly of: string }>; readonly asked: Asked[] } {
  const asked: Asked[] = []
  const compile = (_: SourceText, share: string): Promise<{ readonly of: string }> =>
    new Promise((resolve, reject) => asked.push({ share, resolve, reject }))
  return { cache: new PlanCache(compile), asked }
}

test("one caller's requests for a source share a place in the compiler's queue", async () => {
  const { cache, asked } = cacheOf()
  const both = [cache.get({ source: "s" }, "ada"), cache.get({ source: "s" }, "ada")]
  assert.equal(asked.length, 1)
  asked[0]?.resolve({ of: "ada" })
  assert.deepEqual(await Promise.all(both), [{ of: "ada" }, { of: "ada" }])
})

test("a caller does not wait for another caller's place, nor fail with it", async () => {
  const { cache, asked } = cacheOf()
  const slow = cache.get({ source: "s" }, "mallory")
  const bobs = cache.get({ source: "s" }, "bob")
  assert.deepEqual(
    asked.map(({ share }) => share),
    ["mallory", "bob"],
  )
  const plan = { of: "bob" }
  asked[1]?.resolve(plan)
  assert.equal(await bobs, plan)
  // The second caller gets the plan that is there already.
  asked[0]?.resolve({ of: "mallory" })
  assert.equal(await slow, plan)

  const refused = cache.get({ source: "t" }, "mallory")
  const fine = cache.get({ source: "t" }, "bob")
  asked[2]?.reject(new Error("Too many"))
  asked[3]?.resolve(plan)
  await assert.rejects(refused)
  assert.equal(await fine, plan)
  const later = cache.get({ source: "u" }, "mallory")
  asked[4]?.reject(new Error("Too many"))
  await assert.rejects(later)
  void cache.get({ source: "u" }, "mallory")
  assert.equal(asked.length, 6, "a refusal is not kept")
})
