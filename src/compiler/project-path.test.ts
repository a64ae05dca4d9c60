import assert from "node:assert/strict"
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve, sep } from "node:path"
import { after, test } from "node:test"
import { fc } from "../../test/support/fast-check.ts"
import { findInProject } from "./project-path.ts"

const base = realpathSync(mkdtempSync(join(tmpdir(), "wire-project-")))
after(() => rmSync(base, { recursive: true, force: true }))
const root = join(base, "root")
for (const folder of ["root/a/b", "outside/a", "root-beside"]) mkdirSync(join(base, folder), { recursive: true })
for (const file of ["root/x", "root/a/x", "root/a/b/x", "outside/x", "outside/a/x", "root-beside/x"]) {
  writeFileSync(join(base, file), "")
}
const links: Readonly<Record<string, string>> = {
  "root/in": "a/x",
  "root/up": "../outside/x",
  "root/away": join(base, "outside"),
  "root/a/back": "..",
  "root/a/over": "../up",
  "root/a/gone": "../nothing",
  "root/round": "round",
  "outside/home": join(base, "root"),
}
for (const [path, target] of Object.entries(links)) symlinkSync(target, join(base, path))

const part = fc.constantFrom(
  "a",
  "b",
  "x",
  "in",
  "up",
  "away",
  "back",
  "over",
  "gone",
  "round",
  "home",
  "..",
  ".",
  "outside",
  "root",
  "A",
  "X",
  "root-beside",
)
const written = fc.array(part, { minLength: 1, maxLength: 7 }).map((parts) => parts.join("/"))

test("no path leads out of the root, by whatever parts and links; those that stay in it are found", () => {
  fc.assert(
    fc.property(written, fc.constantFrom(root, `${root}/`, join(root, "a", "..")), (path, from) => {
      const found = findInProject(from, path)
      const file = resolve(root, path)
      let real: string | null = null
      try {
        real = realpathSync(file)
      } catch {
        // Nothing is there.
      }
      const isNamedInside = file.startsWith(root + sep)
      const isInside = isNamedInside && real !== null && real.startsWith(root + sep)
      if ("real" in found) assert.ok(isInside && found.real === real, `${path} → ${found.real}`)
      else if (found.problem === "outside") assert.ok(!isNamedInside || (real !== null && !isInside), path)
      else assert.equal(isNamedInside && real === null, true, path)
    }),
    { numRuns: 2_000 },
  )
})

test("names count to the letter, where the file system finds another one", () => {
  const names = (folder: string): ReadonlySet<string> => new Set(folder === root ? ["A", "x"] : ["x"])
  assert.deepEqual(findInProject(root, "x", names), { real: join(root, "x") })
  assert.deepEqual(findInProject(root, "a/x", names), { problem: "missing" })
})
