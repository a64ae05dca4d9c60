import assert from "node:assert/strict"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { compile } from "../../src/compile.ts"
import { knownMistakes } from "../../src/syntax/known-mistake.ts"

// The case of a row shows its hint, and `render-mistakes.ts` checks that what the hint shows is right in its place.

test("every row of the known mistakes gives the hint of a case", () => {
  const used = new Set<RegExp>()
  for (const [, pattern] of knownMistakes) {
    const exec = pattern.exec.bind(pattern)
    pattern.exec = (text) => {
      const found = exec(text)
      if (found !== null) used.add(pattern)
      return found
    }
  }
  const folder = join(import.meta.dirname, "mistakes")
  for (const file of readdirSync(folder)) {
    const [wrong = ""] = readFileSync(join(folder, file), "utf8").split("=== followed ===\n")
    compile(wrong)
  }
  const unused = knownMistakes.filter(([, pattern]) => !used.has(pattern))
  assert.deepEqual(unused, [])
})
