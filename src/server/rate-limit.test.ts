import assert from "node:assert/strict"
import { test } from "node:test"
import { assertCpuBelow } from "../../test/support/cpu-time.ts"
import { HttpError } from "./http-error.ts"
import { RateLimit } from "./rate-limit.ts"

test("a bucket holds one second's worth, for each caller, and fills up again", () => {
  const limit = new RateLimit(2)
  limit.take("ann", 0)
  limit.take("ann", 0)
  assert.throws(() => limit.take("ann", 0), isLimited)
  limit.take("bob", 0)
  limit.take("ann", 500)
  assert.throws(() => limit.take("ann", 500), isLimited)
})

test("asking while the bucket is empty does not keep it empty", () => {
  const limit = new RateLimit(1)
  limit.take("ann", 0)
  for (let now = 100; now < 1000; now += 100) assert.throws(() => limit.take("ann", now), isLimited)
  limit.take("ann", 1001)
})

test("requests that other processes counted are counted here, too, and a burst is made up for", () => {
  const counted: string[] = []
  let hear: (spent: readonly (readonly [string, number])[]) => void = () => {}
  const limit = new RateLimit(10, { spent: (caller) => counted.push(caller), onSpent: (listener) => (hear = listener) })
  const now = performance.now()
  limit.take("ann", now)
  hear([["ann", 9]])
  assert.throws(() => limit.take("ann", now), HttpError)
  limit.take("bob", now)
  hear([["ann", 10]])
  // The bucket owes ten: it takes a second longer to be of use again.
  assert.throws(() => limit.take("ann", now + 900), HttpError)
  limit.take("ann", now + 2_000)
  assert.deepEqual(counted, ["ann", "bob", "ann"])
})

test("a hundred thousand callers in one second cost no more each than a few", async () => {
  // Looking at all of them for each of them took minutes.
  await assertCpuBelow(20_000, () => {
    const limit = new RateLimit(1000)
    for (let n = 0; n < 300_000; n++) limit.take(`caller ${n}`, n / 1000)
  })
})

function isLimited(error: unknown): boolean {
  return error instanceof HttpError && error.error.kind === "rate_limited" && error.headers["retry-after"] === "1"
}
