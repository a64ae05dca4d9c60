import assert from "node:assert/strict"
import { readdirSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { describe, test } from "node:test"
import { toHtml } from "../scripts/diagnostics-page.mjs"
import { codes } from "../src/source/codes.ts"
import { readCase } from "./cases/case-file.ts"

// A diagnostic is three things: an entry in the catalogue, a case that shows it, and an entry in the docs.

const root = dirname(import.meta.dirname)
const caseFolder = join(root, "test", "cases", "check")
const cases = readdirSync(caseFolder)
const docs = readFileSync(join(root, "docs", "diagnostics.md"), "utf8")

for (const [code, { severity }] of Object.entries(codes)) {
  describe(code, () => {
    test("has a case of its name that shows it", () => {
      const own = cases.filter((file) => file === `${code}.wire` || file.startsWith(`${code}-`))
      const shows = own.some((file) => {
        const { expected = "" } = readCase(readFileSync(join(caseFolder, file), "utf8"))
        return expected.split("\n").some((line) => line.startsWith(`${severity} ${code} `))
      })
      assert.ok(shows, `test/cases/check/${code}.wire should expect a line "${severity} ${code} …"`)
    })

    test("has an entry in docs/diagnostics.md: a workflow that has it, then one that has it no more", () => {
      const [, entry] = docs.split(`\n### ${code}\n`)
      assert.ok(entry !== undefined, `docs/diagnostics.md should have a heading ### ${code}`)
      const [own = ""] = entry.split(/^#/m)
      const marks = [...own.matchAll(/^```wire ?(.*)$/gm)].map(([, mark]) => mark)
      assert.deepEqual(marks, [`${severity}=${code}`, ""])
    })
  })
}

test("the page that the playground links to has an anchor for every code, and its code blocks to the letter", () => {
  const page = toHtml(docs)
  for (const code of Object.keys(codes)) assert.ok(page.includes(`<h3 id="${code}">`), code)
  assert.equal(page.split("<pre").length, docs.split(/^```wire/m).length)
  assert.doesNotMatch(page.replace(/<pre[^]*?<\/pre>/g, ""), /```|\]\(/)
})

test("docs/diagnostics.md has no entry for a code that does not exist", () => {
  const headings = [...docs.matchAll(/^#+ `?([a-z]+(?:-[a-z]+)+)`?$/gm)].map(([, code]) => code ?? "")
  assert.deepEqual(
    headings.filter((code) => !(code in codes)),
    [],
  )
})
