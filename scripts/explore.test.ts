import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, test } from "node:test"
import { commandOf, recordedSeeds } from "./soak-round.mjs"
import { takesSeed } from "./suite.mjs"
import { root } from "./setup.mjs"

/** A project with the real scripts, whose only test file is random. */
const project = mkdtempSync(join(tmpdir(), "wireworks-explore-"))
after(() => rmSync(project, { recursive: true }))
for (const path of ["scripts", "test/support/strength.ts", "package.json", "package-lock.json"]) {
  cpSync(join(root, path), join(project, path), { recursive: true, filter: (file) => !file.endsWith(".test.ts") })
}
symlinkSync(join(root, "node_modules"), join(project, "node_modules"))
mkdirSync(join(project, "src"))
const recordedFile = join(project, "test", "recorded-seeds.json")

const randomTest = "it's random: $HOME"

function write(seedsThatFail: readonly number[], name = randomTest): void {
  writeFileSync(
    join(project, "src", "random.test.ts"),
    `import { test } from "node:test"
import { soakSeed } from "../test/support/strength.ts"
test(${JSON.stringify(name)}, () => {
  if (${JSON.stringify(seedsThatFail)}.includes(soakSeed)) throw new Error("as it should")
})
test("another", () => undefined)
`,
  )
}

function run(command: string, args: readonly string[]): { readonly code: number | null; readonly out: string } {
  const { NODE_TEST_CONTEXT: _, SOAK_SEED: __, ...env } = process.env
  const { status, stdout, stderr } = spawnSync(command, args, { cwd: project, encoding: "utf8", env })
  return { code: status, out: stdout + stderr }
}

const script = (name: string, ...args: string[]) => run(process.execPath, [join(project, "scripts", name), ...args])

test("exploring takes new seeds; one that fails is recorded, and every soak tries it again until it passes", () => {
  write([7, 8])
  writeFileSync(recordedFile, "[]\n")
  assert.equal(script("soak.mjs").code, 0)

  const explored = script("explore.mjs", "--minutes", "0.06", "--seed", "6")
  assert.equal(explored.code, 1, explored.out)
  assert.match(explored.out, /^ok {5}src\/random\.test\.ts, seed 6 /m)
  // Three seeds are tried at a time: whichever failure comes first is recorded.
  const [{ seed }] = JSON.parse(readFileSync(recordedFile, "utf8"))
  const other = seed === 7 ? 8 : 7
  const recorded = { file: "src/random.test.ts", test: randomTest, seed }
  assert.deepEqual(JSON.parse(readFileSync(recordedFile, "utf8")), [recorded], explored.out)
  const repeats = commandOf(recorded)
  assert.ok(explored.out.includes(`${repeats}\n  (recorded in test/recorded-seeds.json)`), explored.out)
  assert.ok(explored.out.includes(`${commandOf({ ...recorded, seed: other })}\n  (not recorded: `), explored.out)

  const again = run("sh", ["-c", repeats.replace("npm run soak --", `${process.execPath} scripts/soak.mjs`)])
  assert.equal(again.code, 1, again.out)
  assert.match(again.out, /^0 passed, 1 failed, 0 skipped$/m)

  const failing = script("soak.mjs")
  assert.equal(failing.code, 1, failing.out)
  assert.match(failing.out, /^2 passed, 1 failed, 0 skipped$/m)
  assert.ok(failing.out.includes(repeats), failing.out)
  assert.equal(script("soak.mjs", "--seed", "9").code, 0)

  write([])
  const repaired = script("soak.mjs")
  assert.equal(repaired.code, 0, repaired.out)
  assert.match(repaired.out, /^3 passed, 0 failed, 0 skipped$/m)

  write([], "renamed")
  const lost = script("soak.mjs")
  assert.equal(lost.code, 1, lost.out)
  assert.ok(
    lost.out.includes(`has no test called ${randomTest}: give its recorded seed ${seed} the new name`),
    lost.out,
  )
})

test("exploring ends in time, and says what it had no time for", () => {
  write([])
  const { code, out } = script("explore.mjs", "--minutes", "0.01")
  assert.equal(code, 0, out)
  assert.match(out, /^Not enough time for: src\/random\.test\.ts\.$/m)
  assert.match(out, /^0 passed, 0 failed, 0 skipped$/m)
})

test("what exploring cannot do, it says in one line", () => {
  for (const [args, sentence] of [
    [["--only", "nothing"], /^No part and no test file is called nothing\. /],
    [["--minutes", "soon"], /^--minutes takes a positive number, not soon\.\n$/],
    [["--minutes", "0"], /^--minutes takes a positive number, not 0\.\n$/],
    [["--seed", "1.5"], /^--seed takes a whole number from 0 to 2147483647, not 1\.5\.\n$/],
    [["--fast"], /^Unknown option '--fast'/],
  ] as const) {
    const { code, out } = script("explore.mjs", ...args)
    assert.equal(code, 1, out)
    assert.match(out, sentence)
  }
  assert.match(script("explore.mjs", "--help").out, /^npm run explore \[-- OPTIONS\]\n/)
})

test("recorded seeds are of random tests that exist", () => {
  for (const { file, seed } of recordedSeeds()) {
    assert.ok(existsSync(join(root, file)) && takesSeed(file), file)
    assert.ok(Number.isInteger(seed), String(seed))
  }
})
