import assert from "node:assert/strict"
import { test } from "node:test"
import { runHistories } from "../simulation/run-histories.ts"
import { soakSeed } from "../support/strength.ts"

// Histories of the memory store, made again on a real server by three processes, the connections of one of which break.

for (const [name, count, more] of [
  ["histories", 100, []],
  ["histories of schedules and webhooks", 8, ["--triggers"]],
] as const) {
  test(`${count} ${name} of the seed give the same on PostgreSQL`, { timeout: 3_600_000 }, async (t) => {
    const first = soakSeed * 1000
    t.diagnostic(`seeds from ${first}`)
    const output = await runHistories(count, first, "postgres", more)
    assert.match(output, new RegExp(`^${count} histories in .*, 0 went wrong`, "m"), output.slice(-20_000))
    t.diagnostic(output.trim().split("\n").at(-1) ?? "")
  })
}
