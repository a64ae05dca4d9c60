import assert from "node:assert/strict"
import { globSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { functionNames } from "../src/check/function-table.ts"
import { languageGuide, pages } from "../src/editor/guide/language-guide.ts"
import { keywordTexts, typeTexts } from "../src/editor/explanations.ts"
import { codes } from "../src/source/codes.ts"
import { declarationWords } from "../src/syntax/declaration-start.ts"
import { propertyTable } from "../src/syntax/property-table.ts"

// The page for coding agents. Its workflows are compiled by docs-wire.test.ts; `npm run docs` writes it.

const guide = languageGuide()
const docs = join(import.meta.dirname, "..", "docs")

test("docs/llms.txt is the page that the service serves, and not too long", () => {
  assert.equal(readFileSync(join(docs, "llms.txt"), "utf8"), guide)
  assert.ok(guide.length <= 48_000, `${guide.length} characters`)
})

test("every construct of the language is in it", () => {
  const properties = Object.values(propertyTable).flatMap((rows) => Object.keys(rows))
  const words = [
    ...declarationWords,
    ...properties,
    ...functionNames,
    ...Object.keys(keywordTexts),
    ...Object.keys(typeTexts),
  ]
  const missing = [...words, ...Object.keys(codes)].filter(
    (word) => !new RegExp(`(?<![\\w-])${word}(?![\\w-])`).test(guide),
  )
  assert.deepEqual([...new Set(missing)], [])
})

test("every page of the documentation is named", () => {
  const all = globSync("*.md", { cwd: docs }).filter((page) => page !== "README.md")
  assert.deepEqual(Object.keys(pages).toSorted(), all.toSorted())
})
