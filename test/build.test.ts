import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { after, before, describe, test } from "node:test"
import { build } from "../scripts/build.mjs"
import { otherNode } from "./support/other-node.ts"

const root = dirname(import.meta.dirname)

describe("npm run build", () => {
  let folder: string
  before(async () => {
    // Far from any node_modules: the bundle needs none.
    folder = mkdtempSync(join(tmpdir(), "wireworks-build-"))
    writeFileSync(join(folder, "chunk-OLD.js"), "left over from an earlier build")
    await build(folder)
  })
  after(() => rmSync(folder, { recursive: true }))

  test("the command is executable and starts Node", () => {
    const entry = join(folder, "wire.js")
    assert.equal(readFileSync(entry, "utf8").split("\n")[0], "#!/usr/bin/env node")
    if (process.platform !== "win32") assert.equal(statSync(entry).mode & 0o111, 0o111)
  })

  test("it does what the sources do", () => {
    const run = (file: string) =>
      spawnSync(process.execPath, [file, "check", "--json", "--stdin"], {
        input: "output { x: agent.nobody }\n",
        encoding: "utf8",
      })
    const [built, source] = [run(join(folder, "wire.js")), run(join(root, "src/cli/wire.ts"))]
    assert.equal(built.status, 1)
    assert.match(built.stdout, /"unknown-reference"/)
    assert.deepEqual([built.stdout, built.stderr], [source.stdout, source.stderr])
  })

  test("the largest file of a start is ASCII, else Node keeps its text with two bytes a character", () => {
    const [file = ""] = readdirSync(folder).filter((name) => /^compose-.*\.js$/.test(name))
    // esbuild leaves regular expressions as they are: write \\u… in them.
    assert.deepEqual(readFileSync(join(folder, file), "utf8").match(/.{0,40}[^\0-\x7f].{0,20}/g), null)
  })

  const other = otherNode()
  const skip = other === undefined && "the machine has no other Node than the pinned one"
  test("an older Node is refused with a sentence", { skip }, (t) => {
    assert.ok(other !== undefined)
    const version = spawnSync(other, ["--version"], { encoding: "utf8" }).stdout.trim()
    if (Number(/^v(\d+)/.exec(version)?.[1]) >= 24) return t.skip("the machine's other Node is new enough")
    const { status, stderr } = spawnSync(other, [join(folder, "wire.js"), "--version"], { encoding: "utf8" })
    assert.deepEqual([status, stderr], [2, `wire needs Node 24 or newer, and this is ${version}.\n`])
  })

  test("nothing of an earlier build, and nothing half written, is left", () => {
    const files = readdirSync(folder)
    assert.ok(!files.includes("chunk-OLD.js"))
    assert.deepEqual(
      files.filter((file) => file.endsWith(".new")),
      [],
    )
    assert.ok(files.includes("wire.js.map"))
  })
})
