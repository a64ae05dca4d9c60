import assert from "node:assert/strict"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { afterEach, beforeEach, test } from "node:test"
import { whyInstall } from "./setup.mjs"

interface LockEntry {
  version: string
  integrity?: string
  optional?: boolean
}

let folder: string
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), "wireworks-setup-"))))
afterEach(() => rmSync(folder, { recursive: true }))

function put(path: string, content: unknown): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true })
  writeFileSync(join(folder, path), JSON.stringify(content))
}

/** A project whose lockfile wants some packages, and has others installed. */
function project(wanted: Record<string, LockEntry>, installed: Record<string, LockEntry>): void {
  put("package-lock.json", { packages: { "": { version: "0.1.0" }, ...wanted } })
  put("node_modules/.package-lock.json", { packages: installed })
  put("node_modules/node/bin/node", "")
}

const pino = { version: "1.0.0", integrity: "sha512-a" }

test("nothing to do where all is as the lockfile says, more included", () => {
  project({ "node_modules/pino": pino }, { "node_modules/pino": pino, "node_modules/extra": pino })
  assert.equal(whyInstall(folder), null)
})

test("packages of other platforms may be missing, others not", () => {
  project({ "node_modules/@esbuild/aix-ppc64": { ...pino, optional: true } }, {})
  assert.equal(whyInstall(folder), null)
  project({ "node_modules/a/node_modules/pino": pino }, {})
  assert.equal(whyInstall(folder), "pino is missing")
})

test("another version or content is installed anew", () => {
  project({ "node_modules/pino": pino }, { "node_modules/pino": { ...pino, version: "0.9.0" } })
  assert.equal(whyInstall(folder), "pino is 0.9.0, the lockfile says 1.0.0")
  project({ "node_modules/pino": pino }, { "node_modules/pino": { ...pino, integrity: "sha512-b" } })
  assert.equal(whyInstall(folder), "pino differs from the lockfile")
})

test("no node_modules, or an install without its scripts", () => {
  put("package-lock.json", { packages: {} })
  assert.equal(whyInstall(folder), "node_modules is missing")
  put("node_modules/.package-lock.json", { packages: {} })
  assert.equal(whyInstall(folder), "the package `node` has no binary")
})
