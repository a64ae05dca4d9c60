import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { join } from "node:path"
import { test } from "node:test"
import { simulate } from "./history.ts"
import { plantedBugs } from "./planted-bugs.ts"

// Whole services in virtual time, each seed another history. `npm run simulate` makes as many as there is time for.

/** Histories on each store, and those that are made again on SQLite. */
const counts = { memory: 3000, nats: 100, sqlite: 50 } as const
/** A planted bug has to be found within so many. */
const enough = 10_000

for (const [on, count] of Object.entries(counts)) {
  test(`${count} histories keep every promise: ${on}`, { timeout: 600_000 }, async (t) => {
    // In a process of its own: the test runner's own bookkeeping makes every promise twice as slow.
    const output = await runHistories(count, 1, on, on === "memory" ? ["--coverage"] : [])
    assert.match(output, new RegExp(`^${count} histories in .*, 0 went wrong`, "m"), output.slice(-20_000))
    // Every fault and every part of the language comes up in one history of five hundred.
    assert.deepEqual(output.match(/^RARE .*/gm), null)
    t.diagnostic(output.trim().split("\n").at(-1) ?? "")
  })
}

test("the histories that find planted bugs keep every promise without them", async () => {
  for (const { name, on = "memory", seed } of plantedBugs) {
    if (on === "sqlite") continue
    const { problems, diary } = await simulate(seed, { home: on })
    assert.deepEqual(problems, [], `${name}\n${diary.join("\n")}`)
  }
})

for (const home of ["memory", "nats"] as const) {
  test(`one seed is one history: ${home}`, async () => {
    for (const seed of [7, 8, 9]) {
      const [first, second] = [await simulate(seed, { home }), await simulate(seed, { home })]
      assert.ok(first.diary.length > 5)
      assert.deepEqual(first.diary, second.diary)
    }
  })
}

for (const { name, on = "memory", seed } of plantedBugs) {
  test(`a planted bug is found: ${name}`, { timeout: 600_000 }, async (t) => {
    const output = await runHistories(enough, seed, on, ["--stop-at-first"], name)
    const found = /^(\d+) histories in .*, 1 went wrong/m.exec(output)
    assert.ok(found, output.slice(-2000))
    t.diagnostic(
      `after ${found[1]} histories: ${/^seed .*/m.exec(output.slice(output.lastIndexOf("\nseed")).trim())?.[0] ?? ""}`,
    )
  })
}

/** What `npm run simulate` writes, with a bug planted in the code where one is named. */
async function runHistories(
  count: number,
  first: number,
  on: string,
  more: readonly string[],
  bug?: string,
): Promise<string> {
  const folder = import.meta.dirname
  const plant = bug === undefined ? [] : ["--import", join(folder, "plant.ts")]
  const options = [...(on === "memory" ? [] : [`--${on}`]), ...more]
  const child = spawn(
    process.execPath,
    ["--max-semi-space-size=64", ...plant, join(folder, "run.ts"), String(count), String(first), ...options],
    {
      env: { ...process.env, NODE_TEST_CONTEXT: "", ...(bug === undefined ? {} : { WIRE_PLANTED_BUG: bug }) },
      stdio: ["ignore", "pipe", "pipe"],
    },
  )
  let output = ""
  child.stdout.on("data", (text) => (output += String(text)))
  child.stderr.on("data", (text) => (output += String(text)))
  await new Promise((resolve) => child.once("close", resolve))
  return output
}
