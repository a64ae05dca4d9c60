import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { test } from "node:test"
import { settingTable } from "../src/cli/settings.ts"
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

test("the README lists every setting with its default", () => {
  const listed = [...readme.matchAll(/^\| `WIRE_(\w+)` \| (.*?) ?\|/gm)].map(([, name, preset]) => `${name} ${preset}`)
  const settings = Object.values(settingTable).map(({ env, default: preset }) =>
    preset === undefined || preset === "" ? `${env} ` : `${env} \`${preset}\``,
  )
  assert.deepEqual(listed, settings)
})
