import assert from "node:assert/strict"
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, test } from "node:test"
import { readCase, withFinalBreak, writeCase } from "./case-file.ts"

// Each `<stage>/<name>.wire` is one case; `render-<stage>.ts` turns its source into the text that it expects. A new case
// is a new file with a source only: `UPDATE=1 npm test -- cases` adds what the renderer says, for you to read and commit.

const stages = ["lex", "parse", "check", "mistakes", "plan", "format", "schema", "editor"] as const

interface Renderer {
  render(source: string): string
}

const update = process.env["UPDATE"] === "1"

test("expectations are not rewritten in CI", () => {
  assert.ok(!(update && process.env["CI"] === "true"), "UPDATE=1 together with CI=true")
})

test("every folder of cases is a stage, and holds nothing but cases", () => {
  for (const entry of readdirSync(import.meta.dirname, { withFileTypes: true })) {
    if (!entry.isDirectory()) continue
    assert.ok((stages as readonly string[]).includes(entry.name), `test/cases/${entry.name} is no stage`)
    for (const file of readdirSync(join(import.meta.dirname, entry.name))) {
      assert.match(
        file,
        /^[a-z0-9]+(-[a-z0-9]+)*\.wire$/,
        `test/cases/${entry.name}/${file}: cases are kebab-case.wire`,
      )
    }
  }
})

for (const stage of stages) {
  const folder = join(import.meta.dirname, stage)
  if (!existsSync(folder)) continue
  const renderer = (await import(`./render-${stage}.ts`)) as Renderer
  describe(stage, () => {
    for (const file of readdirSync(folder).toSorted()) {
      test(`${stage}/${file}`, () => checkCase(join(folder, file), renderer))
    }
  })
}

function checkCase(path: string, renderer: Renderer): void {
  const { source, expected } = readCase(
    new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(readFileSync(path)),
  )
  const rendered = withFinalBreak(renderer.render(source))
  if (rendered === expected) return
  if (update && process.env["CI"] !== "true") {
    writeFileSync(path, writeCase(source, rendered))
    return
  }
  const advice = "UPDATE=1 npm test -- cases writes what is there now"
  assert.ok(expected !== undefined, `${path} has no expectation yet; ${advice}:\n${rendered}`)
  assert.equal(rendered, expected, `${path} is not as expected; if it should be so, ${advice}`)
}
