import assert from "node:assert/strict"
import { existsSync, globSync, readFileSync } from "node:fs"
import { dirname, join, posix } from "node:path"
import { test } from "node:test"

// Prose about the repository goes stale in silence; the paths that it cites are the part that can be checked.

const root = dirname(import.meta.dirname)
const pages = ["README.md", "CONTRIBUTING.md", ...globSync("docs/**/*.md", { cwd: root }).map(withSlashes)]

interface Citation {
  /** From the repository's root; may be a pattern. */
  readonly path: string
  readonly line: number
}

/**
 * Paths under one of the repository's folders, wherever they stand, and the targets of links. `<name>` stands for
 * anything, `*` and `**` for what they stand for in a pattern.
 */
function citations(page: string, text: string): Citation[] {
  const found: Citation[] = []
  for (const [index, content] of text.split("\n").entries()) {
    const line = index + 1
    const folders = /(?<![\w/.-])(?:src|test|docs|scripts|bench|playground|examples|\.ci)\/[\w.*<>/-]*/g
    for (const [path] of content.matchAll(folders)) found.push({ path: path.replace(/[.-]+$/, ""), line })
    for (const [, target] of content.matchAll(/\]\(([^)\s]+)\)/g)) {
      if (target === undefined || /^([a-z]+:|#)/.test(target)) continue
      found.push({ path: posix.join(posix.dirname(page), target.replace(/#.*$/, "")), line })
    }
  }
  return found
}

function isThere(path: string): boolean {
  if (!/[*<]/.test(path)) return existsSync(join(root, path))
  return globSync(path.replaceAll(/<[^>]*>/g, "*"), { cwd: root }).length > 0
}

function withSlashes(path: string): string {
  return path.replaceAll("\\", "/")
}

for (const page of pages) {
  test(`every path that ${page} cites exists`, () => {
    const missing = citations(page, readFileSync(join(root, page), "utf8")).filter(({ path }) => !isThere(path))
    assert.deepEqual(
      missing.map(({ path, line }) => `${page}:${line} ${path}`),
      [],
    )
  })
}

test("citations are found in prose, code, fences and links", () => {
  const text = [
    "See `src/syntax/lexer.ts` and src/check/.",
    "[stack](../decisions/stack.md#why), [site](https://example.org/docs/x), [here](#top)",
    "```",
    "npm test -- test/cases/<stage>/<name>.wire",
    "```",
  ].join("\n")
  assert.deepEqual(citations("docs/boundaries/a.md", text), [
    { path: "src/syntax/lexer.ts", line: 1 },
    { path: "src/check/", line: 1 },
    { path: "docs/decisions/stack.md", line: 2 },
    { path: "test/cases/<stage>/<name>.wire", line: 4 },
  ])
})
