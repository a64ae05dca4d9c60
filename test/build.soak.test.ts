import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { after, before, describe, test } from "node:test"
import { findNode, whyNoNode } from "../scripts/other-nodes.mjs"
import { builtWire } from "./support/built-wire.ts"

const root = dirname(import.meta.dirname)

/** Hashes of the files of a build, without the types that only the package has. Compressed copies differ with Node's zlib, compiled code and maps' paths are not compared. */
function hashes(folder: string): Readonly<Record<string, string>> {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).toSorted()
  const compared = files.filter(
    (file) => statSync(join(folder, file)).isFile() && !/\.(gz|br|map)$|^\.compiled|^types/.test(file),
  )
  const hash = (file: string) =>
    createHash("sha256")
      .update(readFileSync(join(folder, file)))
      .digest("hex")
  return Object.fromEntries(compared.map((file) => [file, hash(file)]))
}

describe("npm run build", () => {
  let folder: string
  const older = findNode("20.0.0")
  const skip = older === null && whyNoNode("20.0.0")
  before(() => {
    // Beside the bundle that it is compared with: names of files depend on where the sources are.
    const built = mkdtempSync(join(dirname(dirname(builtWire)), "build-"))
    writeFileSync(join(built, "chunk-OLD.js"), "left over from an earlier build")
    // In a fresh clone the machine's Node builds, which may be older than the one that the bundle is for.
    const { status, stderr } = spawnSync(older ?? process.execPath, [join(root, "scripts", "build.mjs"), built], {
      encoding: "utf8",
    })
    assert.equal(status, 0, stderr)
    // Far from any node_modules: the bundle needs none. The first releases of Node 20 need a package.json to see a module.
    const home = mkdtempSync(join(tmpdir(), "wireworks-build-"))
    writeFileSync(join(home, "package.json"), '{ "type": "module" }')
    folder = join(home, "dist")
    cpSync(built, folder, { recursive: true })
    rmSync(built, { recursive: true })
  })
  after(() => rmSync(dirname(folder), { recursive: true }))

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

  /** The files that these import by their names, and so on. Not those that are imported late. */
  function filesBehind(entries: readonly string[]): string[] {
    const found = new Set(entries)
    for (const file of found) {
      const text = readFileSync(join(folder, file), "utf8")
      for (const [, name = ""] of text.matchAll(/\b(?:from|import)"\.\/([^"]+)"/g)) found.add(name)
    }
    return [...found]
  }

  /** Those that every start of the service loads. */
  function filesOfStart(): string[] {
    const files = filesBehind(["service.js"])
    const texts = files.map((file) => readFileSync(join(folder, file), "utf8")).join("\n")
    const late = [...texts.matchAll(/\bimport\("\.\/((?:open-store|compose)-\w+\.js)"\)/g)].map(([, name = ""]) => name)
    assert.equal(late.length, 2)
    return filesBehind([...files, ...late])
  }

  test("a start of the service loads few files", () => {
    const files = filesOfStart()
    assert.ok(files.length < 12, files.join(", "))
  })

  test("the threads are one file each", () => {
    assert.deepEqual(filesBehind(["writer-thread.js"]), ["writer-thread.js"])
    assert.deepEqual(filesBehind(["source-thread.js"]), ["source-thread.js"])
  })

  test("the files of a start are ASCII, else Node keeps their text with two bytes a character", () => {
    for (const file of filesOfStart()) {
      // esbuild leaves regular expressions as they are: write \\u… in them.
      assert.deepEqual(readFileSync(join(folder, file), "utf8").match(/.{0,40}[^\0-\x7f].{0,20}/g), null, file)
    }
  })

  test("an older Node is refused with a sentence", { skip }, () => {
    assert.ok(older !== null)
    const version = spawnSync(older, ["--version"], { encoding: "utf8" }).stdout.trim()
    const { status, stderr } = spawnSync(older, [join(folder, "wire.js"), "--version"], { encoding: "utf8" })
    assert.equal(status, 2)
    assert.match(
      stderr,
      new RegExp(`^wire needs Node 22.13 or newer, and this is ${version}\\. .+ https://nodejs.org\\.\n$`),
    )
  })

  test("an older Node builds the same files", { skip }, () => {
    assert.deepEqual(hashes(folder), hashes(dirname(builtWire)))
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
