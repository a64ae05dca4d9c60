import assert from "node:assert/strict"
import { execFileSync, spawnSync } from "node:child_process"
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, test } from "node:test"
import { applyEdit } from "./example-change.ts"
import { exampleChanges } from "./example-changes.ts"

// Makes every example change in a copy of the repository, touching only the files that CONTRIBUTING.md lists for its kind, and then runs
// `npm run check` and the tests that know of such changes there.

const root = join(import.meta.dirname, "..", "..")
const copy = mkdtempSync(join(tmpdir(), "wireworks-changes-"))
after(() => rmSync(copy, { recursive: true, force: true }))

const tracked = execFileSync("git", ["ls-files", "-z"], { cwd: root, encoding: "utf8" }).split("\0").filter(Boolean)
for (const file of tracked) if (existsSync(join(root, file))) cpSync(join(root, file), join(copy, file))
for (const modules of ["node_modules", "playground/node_modules"]) {
  if (existsSync(join(root, modules))) symlinkSync(join(root, modules), join(copy, modules))
}

function inCopy(...args: readonly string[]): void {
  // `UPDATE=1` lets tests write the tables that they compare.
  const env = { ...process.env, UPDATE: args.includes(languageTables) ? "1" : "", NODE_TEST_CONTEXT: undefined }
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: copy, encoding: "utf8", env })
  assert.equal(status, 0, `${args.join(" ")}\n${stdout}\n${stderr}`)
}

const languageTables = "test/docs-language.test.ts"

/** The text of every file that may change without being edited. */
function generated(): Map<string, string> {
  const files = tracked.filter((file) => /^(?:docs|editors)\/|\.md$/.test(file))
  return new Map(files.map((file) => [file, readFileSync(join(copy, file), "utf8")]))
}

for (const { kind, edits, made } of exampleChanges) {
  test(`${kind}: the docs that are made from the code follow`, () => {
    for (const edit of edits) applyEdit(copy, edit)
    const before = generated()
    inCopy("scripts/docs.ts")
    inCopy("--test", languageTables)
    const changed = [...generated()].filter(([file, text]) => before.get(file) !== text).map(([file]) => file)
    assert.deepEqual(changed.toSorted(), made.toSorted())
  })
}

test("npm run check passes with all of them", () => {
  inCopy("scripts/check.ts")
})

test("so do the tests that know of such changes", () => {
  inCopy("--test", ...new Set(exampleChanges.flatMap(({ tests }) => tests)))
})
