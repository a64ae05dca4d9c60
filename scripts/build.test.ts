import assert from "node:assert/strict"
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, test } from "node:test"
import { removeOlder } from "./build.mjs"

const folder = mkdtempSync(join(tmpdir(), "wireworks-builds-"))
after(() => rmSync(folder, { recursive: true }))

function build(...names: string[]): string[] {
  mkdirSync(join(folder, "playground"), { recursive: true })
  const paths = names.map((name) => join(folder, name))
  for (const path of paths) writeFileSync(path, "")
  removeOlder(
    folder,
    paths.map((path) => ({ path })),
  )
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" })
  return files.filter((file) => /\.(js|map)$/.test(file)).toSorted()
}

test("a service finds what it imports late after a few more builds, and nothing is left for good", () => {
  const ofBuild = (count: number): string[] => [
    "wire.js",
    `late-${count}.js`,
    `late-${count}.js.map`,
    `playground/app-${count}.js`,
  ]
  assert.deepEqual(build(...ofBuild(1)), ofBuild(1).toSorted())
  for (const count of [2, 3, 4]) {
    const files = build(...ofBuild(count))
    for (const name of ["late-1.js", "playground/app-1.js", `late-${count}.js.map`])
      assert.ok(files.includes(name), name)
  }
  const files = build(...ofBuild(5))
  assert.deepEqual(
    files.filter((file) => /\b(?:late|app)-1\b/.test(file)),
    [],
  )
  assert.deepEqual(
    files.filter((file) => file.endsWith(".map")),
    ["late-5.js.map"],
  )
})
