import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { plantedBugs } from "./planted-bugs.ts"

const root = join(import.meta.dirname, "..", "..")

test("the text that each planted bug replaces is in its file, once", () => {
  const lost = plantedBugs.filter(({ file, from }) => readFileSync(join(root, file), "utf8").split(from).length !== 2)
  assert.deepEqual(
    lost.map(({ name, file }) => `${name}: ${file}`),
    [],
  )
})
