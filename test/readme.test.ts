import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { test } from "node:test"
import { settingTable } from "../src/cli/compose/settings.ts"
import { compile } from "../src/compile.ts"
import { formatText } from "../src/syntax/format.ts"

const root = dirname(import.meta.dirname)
const readme = readFileSync(join(root, "README.md"), "utf8")
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

test("docs/settings.md lists every setting with its default, and the README the eight that people set first", () => {
  const page = readFileSync(join(root, "docs", "settings.md"), "utf8")
  const listed = (text: string): string[] =>
    [...text.matchAll(/^\| `WIRE_(\w+)` \| (.*?) ?\|/gm)].map(([, name, preset]) => `${name} ${preset}`)
  const settings = Object.values(settingTable).map(({ env, default: preset }) =>
    preset === undefined || preset === "" ? `${env} ` : `${env} \`${preset}\``,
  )
  assert.deepEqual(listed(page), settings)
  const first = listed(readme)
  assert.equal(first.length, 8)
  for (const row of first) assert.ok(settings.includes(row), row)
})
