import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import { pathToFileURL } from "node:url"
import { allFiles, inOrder, inProcesses, isOfSoak, isSoakOnly, partOf, takesSeed } from "./suite.mjs"

const files = allFiles()

function soak(...args: string[]): { readonly code: number | null; readonly out: string; readonly err: string } {
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const command = [join(import.meta.dirname, "soak.mjs"), ...args]
  const { status, stdout, stderr } = spawnSync(process.execPath, command, { encoding: "utf8", env })
  return { code: status, out: stdout, err: stderr }
}

test("every file of tests runs in npm test or in the soak, once each", () => {
  assert.ok(files.length > 250, String(files.length))
  assert.deepEqual(inOrder(files).toSorted(), files)
  assert.deepEqual(inProcesses(files).flat().toSorted(), files)
  assert.ok(inProcesses(files).some(({ length }) => length > 20))
  assert.deepEqual(
    inProcesses(files).find((list) => list.includes("src/cli/commands/write-atomically.test.ts")),
    ["src/cli/commands/write-atomically.test.ts"],
  )
  for (const file of files) assert.ok(!isSoakOnly(file) || isOfSoak(file), file)
})

test("the longest processes of npm test start first", () => {
  const [first, ...others] = inProcesses(files.filter((file) => !isSoakOnly(file)))
  assert.deepEqual(first, ["test/browser/stories.test.ts"])
  assert.deepEqual(
    others.slice(-3).map(({ length }) => length),
    [1, 1, 1],
  )
})

test("a file says by its name or by what it imports where it runs", () => {
  assert.ok(!isOfSoak("src/base/canonical-json.test.ts"))
  assert.ok(isOfSoak("test/hostile/hostile.test.ts") && !isSoakOnly("test/hostile/hostile.test.ts"))
  assert.ok(isSoakOnly("test/postgres/chaos.soak.test.ts") && isOfSoak("test/postgres/chaos.soak.test.ts"))
  assert.ok(takesSeed("test/simulation/simulation.test.ts") && takesSeed("test/properties/format.test.ts"))
  assert.equal(partOf("test/crash/crash.test.ts").name, "crash")
})

test("what users run is tested as it is built: the command, the service and the client", () => {
  const places = /^test\/(?:browser|cli|contract\/http|postgres|support\/full-disk)/
  const sources =
    /^import (?!type )[^\n]*"[./]*src\/(?:client\/|cli\/compose\/(?:compose|service)\.ts|cli\/wire\.ts)|"src\/cli\/wire\.ts"/gm
  const folder = join(import.meta.dirname, "..")
  const all = readdirSync(join(folder, "test"), { recursive: true, encoding: "utf8" }).map((file) => `test/${file}`)
  const chosen = all.filter((file) => places.test(file) && file.endsWith(".ts"))
  assert.ok(chosen.length > 80, String(chosen.length))
  for (const file of chosen) assert.deepEqual(readFileSync(join(folder, file), "utf8").match(sources), null, file)
})

test("the soak lists what it would run, all of it or a part", () => {
  const all = soak("--list").out.trim().split("\n")
  assert.deepEqual(all.toSorted(), files.filter(isOfSoak))
  const some = soak("--list", "--only", "crash", "--only", "test/hostile/fuzz").out.trim().split("\n")
  assert.deepEqual(
    some.toSorted(),
    files.filter((file) => (partOf(file).name === "crash" && isOfSoak(file)) || file.startsWith("test/hostile/fuzz")),
  )
})

test("the soak says how far it is, what it found, and which seed it had", () => {
  const { code, out } = soak("--seed", "7", "--only", "src/base/edit-distance.test.ts")
  assert.equal(code, 0, out)
  assert.match(out, /^1 files?, seed 7, about \d+ s on two free cores\.$/m)
  assert.match(out, /^ok {5}1\/1 src\/base\/edit-distance\.test\.ts \(\d+ s\)$/m)
  assert.match(out, /^Nothing failed\.\n\n\d+ passed, 0 failed, 0 skipped$/m)
})

test("every soak has the same seed", () => {
  assert.match(soak("--only", "src/base/edit-distance.test.ts").out, /^1 file, seed 20, /m)
})

test("a test of the soak alone that fails is said to be in its own file", () => {
  const folder = mkdtempSync(join(tmpdir(), "wireworks-suite-"))
  const file = join(folder, "fails.test.mjs")
  const strength = pathToFileURL(join(import.meta.dirname, "..", "test", "support", "strength.ts")).href
  writeFileSync(
    file,
    `import { soakTest } from "${strength}"\nsoakTest("fails", () => { throw new Error("as it should") })\n`,
  )
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const run = (strength: string): string =>
    spawnSync(process.execPath, ["--test", "--test-reporter=tap", file], {
      env: { ...env, TEST_STRENGTH: strength },
      encoding: "utf8",
    }).stdout
  assert.ok(run("full").includes(`location: '${file}:2:1'`))
  assert.doesNotMatch(run("few"), /as it should/)
  rmSync(folder, { recursive: true })
})

test("what the soak cannot do, it says in one line", () => {
  for (const [args, sentence] of [
    [["--only", "nothing"], /^No part and no test file is called nothing\. The parts: trust, simulation, .*\.\n$/],
    [["--seed", "soon"], /^--seed takes a whole number from 0 to 2147483647, not soon\.\n$/],
    [["--only", "src/base/edit-distance", "--test", "nothing"], /^No test of these files is called nothing\.\n$/],
    [["--fast"], /^Unknown option '--fast'/],
  ] as const) {
    const { code, err } = soak(...args)
    assert.equal(code, 1, err)
    assert.match(err, sentence)
  }
})
