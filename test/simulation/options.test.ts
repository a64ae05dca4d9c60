import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { join } from "node:path"
import { test } from "node:test"
import { help, readOptions } from "./options.ts"

test("a count, a first seed and options", () => {
  const none = { count: 1000, first: 1, on: "memory", of: "steps", coverage: false, stopAtFirst: false }
  assert.deepEqual(readOptions([]), { options: none })
  assert.deepEqual(readOptions(["20", "1300000000", "--sqlite", "--triggers"]), {
    options: { ...none, count: 20, first: 1_300_000_000, on: "sqlite", of: "triggers" },
  })
  assert.deepEqual(readOptions(["--help"]), { help })
})

for (const [given, wrong] of [
  [["--sqllite"], "There is no option --sqllite."],
  [["-x"], "There is no option -x."],
  [["0"], 'COUNT is "0": it must be a whole number from 1.'],
  [["1e3"], 'COUNT is "1e3": it must be a whole number from 1.'],
  [["5", "seed"], 'FIRST is "seed": it must be a whole number.'],
  [["5", "1", "7"], "There are two numbers, COUNT and FIRST; 7 is one too many."],
  [["--sqlite", "--postgres"], "Histories run on one store: --sqlite or --postgres."],
  [["--triggers", "--waits"], "Histories are about one thing: --triggers or --waits."],
  [["--nats"], "There is no option --nats."],
] as const) {
  test(`refused: ${given.join(" ")}`, () => assert.deepEqual(readOptions(given), { wrong }))
}

test("a wrong option makes no history, and says where help is", () => {
  const file = join(import.meta.dirname, "run.ts")
  const { status, stdout, stderr } = spawnSync(process.execPath, [file, "3", "--sqllite"], { encoding: "utf8" })
  assert.deepEqual([status, stdout], [2, ""])
  assert.equal(stderr, "There is no option --sqllite. npm run simulate -- --help says what there is.\n")
})
