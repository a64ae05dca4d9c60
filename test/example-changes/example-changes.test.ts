import assert from "node:assert/strict"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { exampleChanges } from "./example-changes.ts"

const root = join(import.meta.dirname, "..", "..")

/** The kinds of change that CONTRIBUTING.md has a row for, with the files that such a change touches. */
const listed = new Map(
  [...readFileSync(join(root, "CONTRIBUTING.md"), "utf8").matchAll(/^\| \*\*(.+?)\*\* \| (.+?) \| (.*?) \|$/gm)].map(
    ([, kind = "", written = "", made = ""]) => [kind, { written: pathsIn(written), made: pathsIn(made) }],
  ),
)

function pathsIn(cell: string): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, path = ""]) => path).toSorted()
}

test("each kind of change in CONTRIBUTING.md has an example, and each example a row", () => {
  assert.deepEqual(
    exampleChanges.map(({ kind }) => kind),
    [...listed.keys()],
  )
})

for (const { kind, edits, made } of exampleChanges) {
  test(`${kind} touches the files that CONTRIBUTING.md lists`, () => {
    const row = listed.get(kind)
    const touched = [...new Set(edits.map(({ file }) => file))].toSorted()
    // A new file is listed by its folder: src/check/rules/….ts.
    const patterns = (row?.written ?? []).map((path) => path.replaceAll("…", "*"))
    const unlisted = touched.filter((file) => !patterns.some((pattern) => fits(file, pattern)))
    const untouched = patterns.filter((pattern) => !touched.some((file) => fits(file, pattern)))
    assert.deepEqual({ unlisted, untouched }, { unlisted: [], untouched: [] })
    assert.deepEqual(made.toSorted(), row?.made)
  })

  test(`${kind}: every place that the example changes is there`, () => {
    for (const edit of edits) {
      if ("create" in edit) assert.ok(!existsSync(join(root, edit.file)), `${edit.file} is there already`)
      else {
        const found = readFileSync(join(root, edit.file), "utf8").split(edit.before).length - 1
        assert.equal(found, 1, `${edit.file}: ${edit.before}`)
      }
    }
  })
}

function fits(file: string, pattern: string): boolean {
  const [start = "", end] = pattern.split("*")
  return end === undefined ? file === pattern : file.startsWith(start) && file.endsWith(end)
}
