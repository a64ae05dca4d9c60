import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { after, test } from "node:test"
import { buildExtension } from "../../scripts/build-vscode.mjs"
import { unzip } from "./unzip.ts"

const vsce = createRequire(import.meta.url).resolve("@vscode/vsce/vsce")

test("the Marketplace's own tool packs the same files, and warns of nothing", async () => {
  const folder = mkdtempSync(join(tmpdir(), "wireworks-vsce-"))
  after(() => rmSync(folder, { recursive: true }))
  // As in a release.
  process.env["GITHUB_REPOSITORY"] = "example/wireworks"
  const files = unzip((await buildExtension()).bytes)
  for (const [path, content] of files) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), content)
  }
  const run = (...args: readonly string[]) => {
    const cwd = join(folder, "extension")
    const { status, stdout, stderr } = spawnSync(process.execPath, [vsce, ...args, "--no-dependencies"], {
      cwd,
      encoding: "utf8",
    })
    assert.equal(status, 0, stdout + stderr)
    assert.doesNotMatch(stdout + stderr, /WARN|ERR/)
    return stdout
  }
  const ours = [...files.keys()].filter((path) => path.startsWith("extension/"))
  assert.deepEqual(run("ls").trim().split("\n").sort(), ours.map((path) => path.slice("extension/".length)).sort())
  run("package", "--out", join(folder, "theirs.vsix"))
  const theirs = unzip(readFileSync(join(folder, "theirs.vsix")))
  const named = (paths: Iterable<string>) => [...paths].map((path) => path.toLowerCase()).sort()
  assert.deepEqual(named(theirs.keys()), named(files.keys()))
})
