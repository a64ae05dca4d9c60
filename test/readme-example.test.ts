import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { test } from "node:test"
import { compile } from "../src/compile.ts"
import { formatText } from "../src/syntax/format.ts"

const readme = readFileSync(join(dirname(import.meta.dirname), "README.md"), "utf8")
const examples = [...readme.matchAll(/^```wire\n(.*?)^```$/gms)].map(([, source]) => source ?? "")

test("the README has a first workflow", () => {
  assert.ok(examples.length > 0)
})

for (const [index, source] of examples.entries()) {
  test(`workflow ${index + 1} of the README has no problems and is in canonical form`, () => {
    assert.deepEqual(compile(source).diagnostics, [])
    assert.deepEqual(formatText(source), { formatted: source, changed: false })
  })
}
