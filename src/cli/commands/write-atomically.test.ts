import assert from "node:assert/strict"
import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, test } from "node:test"
import type { FileVersion } from "./read-source.ts"
import { readSource } from "./read-source.ts"
import { writeAtomically } from "./write-atomically.ts"

const nobody = 65_534

let folder: string
let path: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "wireworks-write-"))
  path = join(folder, "a.wire")
  writeFileSync(path, "old")
})
afterEach(() => {
  chmodSync(folder, 0o700)
  rmSync(folder, { recursive: true })
})

function versionOf(file: string): FileVersion {
  const read = readSource(file)
  assert.ok(read.text !== null)
  return read.version
}

test("the new text is there, the mode is kept, nothing is left behind", () => {
  chmodSync(path, 0o754)
  assert.equal(writeAtomically(path, "new ä", versionOf(path)), null)
  assert.equal(readFileSync(path, "utf8"), "new ä")
  assert.equal(statSync(path).mode & 0o777, 0o754)
  assert.deepEqual(readdirSync(folder), ["a.wire"])
})

test("a link stays a link, and its file is written", () => {
  const link = join(folder, "link.wire")
  symlinkSync("a.wire", link)
  assert.equal(writeAtomically(link, "new", versionOf(link)), null)
  assert.ok(lstatSync(link).isSymbolicLink())
  assert.equal(readlinkSync(link), "a.wire")
  assert.equal(readFileSync(path, "utf8"), "new")
})

test("a file that changed since it was read is left alone", () => {
  const version = versionOf(path)
  writeFileSync(path, "edited meanwhile")
  assert.equal(writeAtomically(path, "new", version), "was changed by someone else meanwhile, and is left alone")
  assert.equal(readFileSync(path, "utf8"), "edited meanwhile")
  assert.deepEqual(readdirSync(folder), ["a.wire"])
})

test("a file that is gone, or no file at all", () => {
  const version = versionOf(path)
  rmSync(path)
  assert.equal(writeAtomically(path, "new", version), "cannot be written (no such file)")
  assert.deepEqual(readdirSync(folder), [])
  assert.equal(writeAtomically("/dev/null", "new", { ...version, regular: false }), "is not a regular file")
})

test("without permission", (context) => {
  // Root may write everything, so root tests as another user.
  if (process.getuid?.() === 0) {
    chownSync(folder, nobody, nobody)
    chownSync(path, nobody, nobody)
    process.seteuid?.(nobody)
    context.after(() => process.seteuid?.(0))
  }
  chmodSync(path, 0o444)
  assert.equal(writeAtomically(path, "new", versionOf(path)), "cannot be written (no permission)")
  chmodSync(path, 0o644)
  chmodSync(folder, 0o500)
  assert.equal(writeAtomically(path, "new", versionOf(path)), "cannot be written (no permission)")
  assert.equal(readFileSync(path, "utf8"), "old")
})
