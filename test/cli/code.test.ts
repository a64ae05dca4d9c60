import assert from "node:assert/strict"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { folderWith, runWire } from "./run-wire.ts"

const workflow = `function f(n: integer): integer from "./f.ts"

input {
    n: integer
}

output {
    n: f(input.n)
}
`
const files = {
  "wireworks.json": "{}",
  "m.wire": workflow,
  "f.ts": 'import { g } from "./g.js"\nexport const f = (n: number): number => g(n)\n',
  "g.js": "export const g = (n) => n + 1\n",
}

test("a workflow with code runs, is bundled with it, and its reach knows the files", async () => {
  const folder = folderWith(files)
  const ran = await runWire(["run", "m.wire", "--set", "n=1"], { cwd: folder })
  assert.deepEqual([ran.code, JSON.parse(ran.out)], [0, { n: 2 }], ran.err)
  const { out } = await runWire(["bundle", "m.wire"], { cwd: folder })
  const { modules } = JSON.parse(out) as { modules: Record<string, string> }
  assert.deepEqual(Object.keys(modules).toSorted(), ["f.ts", "g.js"])
  writeFileSync(join(folder, "m.reach.json"), (await runWire(["reach", "m.wire", "--json"], { cwd: folder })).out)
  assert.equal((await runWire(["reach", "m.wire", "--check", "m.reach.json"], { cwd: folder })).code, 0)
  writeFileSync(join(folder, "g.js"), "export const g = (n) => n + 2\n")
  const grown = await runWire(["reach", "m.wire", "--check", "m.reach.json"], { cwd: folder })
  assert.equal(grown.code, 1)
  assert.match(grown.out, /\+ g\.js is code \([0-9a-f]{12}\)/)
  assert.equal(readFileSync(join(folder, "m.wire"), "utf8"), workflow)
})

test("what is wrong in a code file is shown where the file is named, with its place", async () => {
  const folder = folderWith({ ...files, "g.js": "export const g = (n) => {\n  return n +\n}\n" })
  const { code, out } = await runWire(["check", "m.wire"], { cwd: folder })
  assert.equal(code, 1)
  assert.match(out, /m\.wire:1:38: error: g\.js:3:1: SyntaxError: .* \[invalid-code\]\n {2}1 \| function f/)
})
