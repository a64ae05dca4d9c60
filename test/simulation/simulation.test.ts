import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import { openSqliteStore } from "../../src/adapters/sqlite/sqlite-store.ts"
import { createVault } from "../../src/adapters/vault/vault.ts"
import { replay, SetClock } from "./replay.ts"
import { simulate } from "./history.ts"
import { plantedBugs } from "./planted-bugs.ts"

// Whole services in virtual time, each seed another history. `npm run simulate` makes as many as there is time for.

const histories = 3000
const replayed = 100
/** A planted bug has to be found within so many. */
const enough = 10_000

test(`${histories} histories keep every promise`, { timeout: 600_000 }, async (t) => {
  // In a process of its own: the test runner's own bookkeeping makes every promise twice as slow.
  const output = await runHistories(histories, 1)
  assert.match(output, new RegExp(`^${histories} histories in .*, 0 went wrong`, "m"), output.slice(-20_000))
  t.diagnostic(output.trim().split("\n").at(-1) ?? "")
})

test("one seed is one history", async () => {
  for (const seed of [7, 8, 9]) {
    const [first, second] = [await simulate(seed), await simulate(seed)]
    assert.ok(first.diary.length > 5)
    assert.deepEqual(first.diary, second.diary)
  }
})

test(
  "SQLite answers every call of a history as the memory store did, and holds the same in the end",
  { timeout: 300_000 },
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "wireworks-simulation-"))
    const vault = createVault(Buffer.alloc(32, 7))
    try {
      for (let seed = 1; seed <= replayed; seed++) {
        const { trace, store, diary } = await simulate(seed, { traced: true })
        const clock = new SetClock()
        const sqlite = await openSqliteStore({ path: join(folder, `${seed}.sqlite`), vault, clock })
        try {
          assert.deepEqual(await replay(trace, store, sqlite, clock), [], `seed ${seed}\n${diary.join("\n")}`)
        } finally {
          await sqlite.close()
        }
      }
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  },
)

for (const { name, first = 1 } of plantedBugs) {
  test(`a planted bug is found: ${name}`, { timeout: 600_000 }, async (t) => {
    const output = await runHistories(enough, first, name)
    const found = /^(\d+) histories in .*, 1 went wrong/m.exec(output)
    assert.ok(found, output.slice(-2000))
    t.diagnostic(
      `after ${found[1]} histories: ${/^seed .*/m.exec(output.slice(output.lastIndexOf("\nseed")).trim())?.[0] ?? ""}`,
    )
  })
}

/** What `npm run simulate` writes, with a bug planted in the code where one is named. */
async function runHistories(count: number, first: number, bug?: string): Promise<string> {
  const folder = import.meta.dirname
  const plant = bug === undefined ? [] : ["--import", join(folder, "plant.ts")]
  const stop = bug === undefined ? [] : ["--stop-at-first"]
  const child = spawn(process.execPath, [...plant, join(folder, "run.ts"), String(count), String(first), ...stop], {
    env: { ...process.env, NODE_TEST_CONTEXT: "", ...(bug === undefined ? {} : { WIRE_PLANTED_BUG: bug }) },
    stdio: ["ignore", "pipe", "pipe"],
  })
  let output = ""
  child.stdout.on("data", (text) => (output += String(text)))
  child.stderr.on("data", (text) => (output += String(text)))
  await new Promise((resolve) => child.once("close", resolve))
  return output
}
