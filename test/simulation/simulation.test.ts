import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { join } from "node:path"
import { test } from "node:test"
import { simulate } from "./history.ts"
import { plantedBugs } from "./planted-bugs.ts"

// Whole services in virtual time, each seed another history. `npm run simulate` makes as many as there is time for.

const histories = 3000
/** A planted bug has to be found within so many. */
const enough = 10_000

test(`${histories} histories keep every promise`, { timeout: 600_000 }, async () => {
  for (let seed = 1; seed <= histories; seed++) {
    const { problems, diary } = await simulate(seed)
    assert.deepEqual(problems, [], `npm run simulate -- 1 ${seed}\n${diary.join("\n")}`)
  }
})

test("one seed is one history", async () => {
  for (const seed of [7, 8, 9]) {
    const [first, second] = [await simulate(seed), await simulate(seed)]
    assert.ok(first.diary.length > 5)
    assert.deepEqual(first.diary, second.diary)
  }
})

for (const { name } of plantedBugs) {
  test(`a planted bug is found: ${name}`, { timeout: 600_000 }, async (t) => {
    const output = await simulateWith(name)
    const found = /^(\d+) histories in .*, 1 went wrong/m.exec(output)
    assert.ok(found, output.slice(-2000))
    t.diagnostic(
      `after ${found[1]} histories: ${/^seed .*/m.exec(output.slice(output.lastIndexOf("\nseed")).trim())?.[0] ?? ""}`,
    )
  })
}

async function simulateWith(bug: string): Promise<string> {
  const folder = import.meta.dirname
  const child = spawn(
    process.execPath,
    ["--import", join(folder, "plant.ts"), join(folder, "run.ts"), String(enough), "1", "--stop-at-first"],
    { env: { ...process.env, WIRE_PLANTED_BUG: bug, NODE_TEST_CONTEXT: "" }, stdio: ["ignore", "pipe", "pipe"] },
  )
  let output = ""
  child.stdout.on("data", (text) => (output += String(text)))
  child.stderr.on("data", (text) => (output += String(text)))
  await new Promise((resolve) => child.once("close", resolve))
  return output
}
