import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, test } from "node:test"

/** Tests that pass and fail in all the ways for which the runner must know which test something belongs to. */
const tests = `
import { after, before, beforeEach, describe, it, test } from "node:test"
import { setTimeout as sleep } from "node:timers/promises"

const log = []
before(() => log.push("before all"))
describe("suite", () => {
  before(async () => {
    await sleep(1)
    after(() => log.push("after of before"))
  })
  beforeEach(() => {
    after(() => log.push("after of beforeEach"))
  })
  it("cleans up", async () => {
    await sleep(1)
    after(() => log.push("after of a test"))
    log.push("its end")
  })
  it("has tests", async (t) => {
    await sleep(1)
    await t.test("child", async () => {
      await sleep(1)
      after(() => log.push("after of the child"))
    })
    await test("child by the global function", () => log.push("child"))
  })
  it("throws later", async () => {
    setTimeout(() => { throw new Error("uncaught") }, 1)
    await new Promise(() => {})
  })
  it("rejects later", async () => {
    void sleep(1).then(() => { throw new Error("rejected") })
    await new Promise(() => {})
  })
  it("rejects at once", async () => {
    void Promise.reject(new Error("rejected"))
    await new Promise(() => {})
  })
  it("passes", () => {})
})
test("side by side", { concurrency: true }, async (t) => {
  const failed = Promise.withResolvers()
  await Promise.all([
    t.test("throws", async () => {
      await sleep(1)
      setTimeout(() => { throw new Error("uncaught") }, 1)
      setTimeout(failed.resolve, 2)
      await new Promise(() => {})
    }),
    t.test("passes", () => failed.promise),
  ])
})
process.on("exit", () => console.log("log", log.join(", ")))
`

test("the runner knows which test something belongs to, as it does without the replacement", () => {
  const folder = mkdtempSync(join(tmpdir(), "wireworks-quick-tests-"))
  after(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, "all.test.mjs")
  writeFileSync(file, tests)
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const outcome = (options: readonly string[]) => {
    const { stdout, status } = spawnSync(process.execPath, [...options, "--test-reporter=tap", file], {
      encoding: "utf8",
      env,
    })
    const lines = stdout.split("\n").filter((line) => /^ *(not )?ok |^log |^ *error: |^# (?!duration)/.test(line))
    return { status, lines }
  }
  const quick = outcome(["--require", join(import.meta.dirname, "quick-tests.cjs")])
  assert.deepEqual(quick, outcome([]))
  assert.equal(quick.status, 1)
  assert.ok(quick.lines.includes("    not ok 4 - rejects later"), quick.lines.join("\n"))
  assert.ok(quick.lines.includes("    ok 2 - passes"), quick.lines.join("\n"))
})
