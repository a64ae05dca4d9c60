import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { TestContext } from "node:test"
import { test } from "node:test"
import { readWorkflow } from "./load-workflow.ts"
import { scanFolder } from "./scan-folder.ts"
import { soakTest } from "../../test/support/strength.ts"

function folderFor(t: TestContext): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "wire-hostile-folder-")))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

test("what a file has become since the folder was looked at is not read: a link to elsewhere, a pipe, a folder of elsewhere", async (t) => {
  const outside = folderFor(t)
  const root = folderFor(t)
  writeFileSync(join(outside, "a.wire"), "output { secret: 1 }\n")
  writeFileSync(join(root, "good.wire"), "output { a: 1 }\n")
  symlinkSync(join(outside, "a.wire"), join(root, "link.wire"))
  symlinkSync(outside, join(root, "folder"))
  symlinkSync("good.wire", join(root, "inside.wire"))
  execFileSync("mkfifo", [join(root, "pipe.wire")])
  const read = (name: string): ReturnType<typeof readWorkflow> => readWorkflow(join(root, name), root)
  const issueOf = async (name: string): Promise<string> => {
    const found = await read(name)
    return found === null || Buffer.isBuffer(found) ? "none" : found.code
  }
  assert.equal(await issueOf("link.wire"), "workflow-link")
  assert.equal(await issueOf("folder/a.wire"), "workflow-link")
  assert.equal(await read("pipe.wire"), null)
  assert.equal(await read("missing.wire"), null)
  const expected = Buffer.from("output { a: 1 }\n")
  assert.deepEqual(await read("good.wire"), expected)
  assert.deepEqual(await read("inside.wire"), expected)
})

test("of a large file only the size is read", async (t) => {
  const root = folderFor(t)
  writeFileSync(join(root, "large.wire"), "")
  truncateSync(join(root, "large.wire"), 20_000_000_000)
  const found = await readWorkflow(join(root, "large.wire"), root)
  assert.ok(found !== null && !Buffer.isBuffer(found))
  assert.equal(found.code, "workflow-too-large")
})

soakTest("links that show one folder under very many names end, with one entry that says so", async (t) => {
  const root = folderFor(t)
  for (const name of ["a", "b", "c"]) mkdirSync(join(root, name))
  writeFileSync(join(root, "first.wire"), "output { a: 1 }\n")
  writeFileSync(join(root, "c", "x.wire"), "output { a: 1 }\n")
  for (let at = 0; at < 150; at++) {
    symlinkSync("../b", join(root, "a", `l${at}`))
    symlinkSync("../c", join(root, "b", `m${at}`))
  }
  const { files, refused, folders } = await scanFolder(root)
  assert.ok(files.length <= 10_000 && folders.length <= 10_000, `${files.length} ${folders.length}`)
  assert.ok(files.some(({ name }) => name === "first"))
  assert.deepEqual(
    refused.map(({ issue }) => issue.code),
    ["workflow-count"],
  )
})
