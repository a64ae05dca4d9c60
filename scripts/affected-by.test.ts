import assert from "node:assert/strict"
import { test } from "node:test"
import { affectedBy } from "./affected-by.ts"

const files = new Map([
  ["src/base/a.ts", "export const a = 1\n"],
  ["src/base/alone.ts", "export const alone = 1\n"],
  ["src/run/b.ts", `import { a } from "../base/a.ts"\nexport const b = a\n`],
  ["src/run/c.ts", `import type { B } from './b.ts'\n`],
  ["src/run/late.ts", `const module = await import("./c.ts")\n`],
  ["scripts/d.mjs", `/** @param {import("../src/run/b.ts").B} b */\n`],
  // They import each other.
  ["src/x/e.ts", `import "./f.ts"\n`],
  ["src/x/f.ts", `import "./e.ts"\nimport "../gone.ts"\n`],
  ["src/server/fields.ts", `import type { B } from "../y/b.ts"\ndeclare module "fastify" {}\n`],
  ["src/server/route.ts", `import type { Fastify } from "fastify"\n`],
  ["src/window.ts", `declare global {}\n`],
  ["bench/library.d.ts", `export const library: string\n`],
])

const affected = (...changed: string[]): string[] => [...affectedBy(changed, files)].toSorted()

test("a change affects the file and all that import it, directly or not, also from JSDoc", () => {
  assert.deepEqual(affected(), [])
  assert.deepEqual(affected("src/base/alone.ts"), ["src/base/alone.ts"])
  assert.deepEqual(affected("src/base/a.ts"), [
    "scripts/d.mjs",
    "src/base/a.ts",
    "src/run/b.ts",
    "src/run/c.ts",
    "src/run/late.ts",
  ])
})

test("files that import each other, and a file that is gone", () => {
  assert.deepEqual(affected("src/x/e.ts"), ["src/x/e.ts", "src/x/f.ts"])
  assert.deepEqual(affected("src/gone.ts"), ["src/x/e.ts", "src/x/f.ts"])
})

test("who adds types to a package affects all who import the package", () => {
  const expected = ["src/server/fields.ts", "src/server/route.ts"]
  assert.deepEqual(affected("src/server/fields.ts"), expected)
  assert.deepEqual(affected("src/y/b.ts"), expected)
})

test("declarations for all affect everything", () => {
  assert.equal(affected("src/window.ts").length, files.size)
  assert.equal(affected("bench/library.d.ts").length, files.size)
})
