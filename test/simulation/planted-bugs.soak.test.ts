import assert from "node:assert/strict"
import { test } from "node:test"
import { kindsOfHistories } from "./kinds-of-histories.ts"
import { plantedBugs } from "./planted-bugs.ts"
import { runHistories } from "./run-histories.ts"

/** A planted bug has to be found within so many histories. */
const enough = 10_000

test("the histories that find planted bugs keep every promise without them", async () => {
  for (const { name, on, of, seed } of plantedBugs) {
    if (on !== undefined) continue
    const { problems, diary } = await kindsOfHistories[of ?? "steps"](seed)
    assert.deepEqual(problems, [], `${name}\n${diary.join("\n")}`)
  }
})

for (const { name, on = "memory", of, seed } of plantedBugs) {
  test(`a planted bug is found: ${name}`, { timeout: 3_600_000 }, async (t) => {
    const output = await runHistories(
      enough,
      seed,
      on,
      ["--stop-at-first", ...(of === undefined ? [] : [`--${of}`])],
      name,
    )
    const found = /^(\d+) histories in .*, 1 went wrong/m.exec(output)
    assert.ok(found, output.slice(-2000))
    t.diagnostic(
      `after ${found[1]} histories: ${/^seed .*/m.exec(output.slice(output.lastIndexOf("\nseed")).trim())?.[0] ?? ""}`,
    )
  })
}
