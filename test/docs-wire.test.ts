import assert from "node:assert/strict"
import { globSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { describe, test } from "node:test"
import { isError } from "../src/source/diagnostic.ts"
import { formatText } from "../src/syntax/format.ts"
import { compileSample } from "./support/compile-sample.ts"

// Every workflow that the documentation shows is right and in canonical form. One that is marked `wire error=CODE` has that
// error and no other; one that is marked `wire warning=CODE` has no errors and no other warning.

const root = dirname(import.meta.dirname)
const pages = ["README.md", "CONTRIBUTING.md", ...globSync("{docs,examples}/**/*.{md,txt}", { cwd: root })].toSorted()

interface Sample {
  readonly line: number
  readonly source: string
  /** `error=CODE`, `warning=CODE` or nothing. */
  readonly mark: string
  /** The file that the reader saves it as. Those before it on the page are there, too. */
  readonly file?: string
}

export function samplesIn(markdown: string): Sample[] {
  return [...markdown.matchAll(/^```wire([^\n]*)\n(.*?)^```$/gms)].map(({ 1: mark = "", 2: source = "", index }) => {
    const before = markdown.slice(0, index)
    const file = /Save this as `([^`]+)`:\n\n$/.exec(before)?.[1]
    return { line: before.split("\n").length, source, mark: mark.trim(), ...(file !== undefined && { file }) }
  })
}

let count = 0

for (const page of pages) {
  const samples = samplesIn(readFileSync(join(root, page), "utf8"))
  count += samples.length
  if (samples.length === 0) continue
  describe(page, () => {
    const saved: Record<string, string> = {}
    for (const { line, source, mark, file } of samples) {
      const { [file ?? ""]: _, ...others } = saved
      if (file !== undefined) saved[file] = source
      test(`${page}:${line} ${mark}`.trim(), () => {
        const { diagnostics } = compileSample(source, others, file)
        const errors = diagnostics.filter(isError)
        const warnings = diagnostics.filter((diagnostic) => !isError(diagnostic))
        const [severity, code] = mark.split("=")
        const codesOf = (found: typeof diagnostics): string[] => [...new Set(found.map((one) => one.code))]
        const all = diagnostics.map((one) => `${one.code} ${one.path}: ${one.message}`).join("\n")
        assert.match(mark, /^(?:(?:error|warning)=[a-z-]+)?$/)
        assert.deepEqual(codesOf(errors), severity === "error" ? [code] : [], all)
        if (severity === "warning") assert.deepEqual(codesOf(warnings), [code], all)
        const formatted = formatText(source)
        if ("diagnostics" in formatted)
          assert.equal(code, "syntax-error", "only a syntax error keeps a text from its form")
        else assert.equal(source, formatted.formatted, "in canonical form")
      })
    }
  })
}

test("there are workflows in the documentation", () => assert.ok(count > 10))

test("samples are found with their marks", () => {
  const page = "a\n```wire\ninput { }\n```\n```sh\nx\n```\n```wire error=unknown-type\nb\n```\n"
  assert.deepEqual(samplesIn(page), [
    { line: 2, source: "input { }\n", mark: "" },
    { line: 8, source: "b\n", mark: "error=unknown-type" },
  ])
})
