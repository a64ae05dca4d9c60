import assert from "node:assert/strict"
import { test } from "node:test"
import { atStrength, isSoak, soakSeed } from "../support/strength.ts"
import { simulate } from "./history.ts"
import { runHistories } from "./run-histories.ts"

// Whole services in virtual time, each seed another history. `npm run simulate` makes as many as there is time for.

/** Histories on each store, and those that are made again on SQLite. */
const counts = atStrength(
  { memory: 200, sqlite: 10 },
  // The rarest fault comes up in six histories of a thousand: in thousands, every fault and every part of the language does.
  { memory: 3000, sqlite: 50 },
)

for (const [on, count] of Object.entries(counts)) {
  test(`${count} histories keep every promise: ${on}`, { timeout: 3_600_000 }, async (t) => {
    const output = await runHistories(count, 1, on, on === "memory" && isSoak ? ["--coverage"] : [])
    assert.match(output, new RegExp(`^${count} histories in .*, 0 went wrong`, "m"), output.slice(-20_000))
    assert.deepEqual(output.match(/^NONE .*/gm), null)
    t.diagnostic(output.trim().split("\n").at(-1) ?? "")
  })

  if (!isSoak) continue
  test(`histories of the seed keep every promise: ${on}`, { timeout: 3_600_000 }, async (t) => {
    const first = soakSeed * 1000
    t.diagnostic(`seeds from ${first}`)
    const output = await runHistories(2 * count, first, on, [])
    assert.match(output, new RegExp(`^${2 * count} histories in .*, 0 went wrong`, "m"), output.slice(-20_000))
  })
}

/** Histories of schedules and webhooks, and of waits and events. */
const others = atStrength({ memory: 15, sqlite: 3 }, { memory: 400, sqlite: 40 })

for (const [on, count] of Object.entries(others)) {
  for (const kind of ["triggers", "waits"]) {
    test(`${count} histories of ${kind} keep every promise: ${on}`, { timeout: 3_600_000 }, async (t) => {
      const first = isSoak ? soakSeed * 1000 : 1
      t.diagnostic(`seeds from ${first}`)
      const output = await runHistories(count, first, on, [`--${kind}`])
      assert.match(output, new RegExp(`^${count} histories in .*, 0 went wrong`, "m"), output.slice(-20_000))
    })
  }
}

test("one seed is one history", async () => {
  for (const seed of [7, 8, 9]) {
    const [first, second] = [await simulate(seed), await simulate(seed)]
    assert.ok(first.diary.length > 5)
    assert.deepEqual(first.diary, second.diary)
  }
})
