import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync } from "node:fs"
import { tmpdir } from "node:os"
import { delimiter, dirname, join } from "node:path"
import { after, test } from "node:test"
import { findNode, whyNoNode } from "../scripts/other-nodes.mjs"
import { builtWire } from "./support/built-wire.ts"

const root = dirname(import.meta.dirname)

/** A fresh clone, as far as the command needs one. */
function clone(): string {
  const folder = mkdtempSync(join(tmpdir(), "wireworks-clone-"))
  after(() => rmSync(folder, { recursive: true }))
  for (const path of [
    "package.json",
    "package-lock.json",
    ".npmrc",
    "playground/package.json",
    "scripts",
    "examples",
  ]) {
    cpSync(join(root, path), join(folder, path), { recursive: true })
  }
  return folder
}

/** `npx wire` with a registry that does not answer: a stranger's package must not even be asked for. */
function npxWire(folder: string, args: readonly string[], path = process.env["PATH"] ?? "") {
  const cache = mkdtempSync(join(tmpdir(), "wireworks-npx-"))
  after(() => rmSync(cache, { recursive: true, force: true }))
  const env = {
    ...process.env,
    PATH: path,
    npm_config_cache: cache,
    npm_config_registry: "http://127.0.0.1:9",
    npm_config_fetch_retries: "0",
  }
  const { status, stdout, stderr } = spawnSync("npx", ["wire", ...args], { cwd: folder, env, encoding: "utf8" })
  return { code: status, out: stdout, err: stderr.replaceAll(/^npm warn .*\n/gim, "") }
}

test("`npx wire` in a clone in which nothing is built says what to do", () => {
  assert.deepEqual(npxWire(clone(), ["--version"]), {
    code: 1,
    out: "",
    err: "Nothing is built yet. Run `npm start`, `npm test` or `npm run build` once, and then this again.\n",
  })
})

function builtClone(): string {
  const folder = clone()
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"))
  symlinkSync(dirname(builtWire), join(folder, "dist"))
  return folder
}

test("`npx wire` runs what is built, in every folder of the repository", () => {
  const folder = builtClone()
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string }
  assert.deepEqual(npxWire(folder, ["--version"]), { code: 0, out: `${version}\n`, err: "" })
  const checked = npxWire(join(folder, "examples"), ["check", "hello.wire"])
  assert.deepEqual(checked, { code: 0, out: "Checked 1 file: no problems.\n", err: "" })
  assert.equal(npxWire(folder, ["check", "examples/nothing.wire"]).code, 2)
})

const older = findNode("20.0.0")
test(
  "`npx wire` on an older Node hands over to the installed one",
  { skip: older === null && whyNoNode("20.0.0") },
  () => {
    assert.ok(older !== null)
    const others = (process.env["PATH"] ?? "").split(delimiter).filter((path) => !path.includes("node_modules"))
    const path = [dirname(older), ...others].join(delimiter)
    const folder = builtClone()
    // npx puts node_modules/.bin first, with the installed Node: the script runs on the older one only by itself.
    const script = join(folder, "scripts", "wire.mjs")
    const direct = spawnSync(older, [script, "check", "examples/hello.wire"], { cwd: folder, encoding: "utf8" })
    assert.deepEqual([direct.status, direct.stdout], [0, "Checked 1 file: no problems.\n"], direct.stderr)
    assert.equal(npxWire(folder, ["check", "examples/hello.wire"], path).out, "Checked 1 file: no problems.\n")
  },
)

/** Texts with commands that people copy: documentation, examples, and what the command prints and writes. */
const texts = ["README.md", "CONTRIBUTING.md", "docs", "examples", "deploy", "editors", "packages", "src/cli"]
  .flatMap((path) =>
    statSync(join(root, path)).isFile()
      ? [path]
      : readdirSync(join(root, path), { recursive: true, encoding: "utf8" }).map((file) => join(path, file)),
  )
  .filter((path) => !path.includes("node_modules") && statSync(join(root, path)).isFile())
  .map((path) => [path, readFileSync(join(root, path), "utf8")] as const)

test("no command that people copy takes a package of our name from a registry", () => {
  let count = 0
  for (const [path, text] of texts) {
    for (const [command] of text.matchAll(/\b(?:npx|npm exec|npm (?:i|install|add)) [^\n`]*/g)) {
      count++
      // In a checkout and in a project that has the package `npx wire` is ours. A scope has one owner.
      if (/^npx (?:wire|tsc|oxlint|@\w)/.test(command)) continue
      assert.match(command, /^npm (?:i|install|add)\b/, `${path}: ${command}`)
      assert.doesNotMatch(command, /[ =]wireworks(?:-client)?(?:$|[ @.])/, `${path}: ${command}`)
    }
  }
  assert.ok(count > 10, String(count))
})

test("what is built in is a dependency of the checkout, of 150 MB at most: `npm start` installs no more", () => {
  const { packages } = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as {
    packages: Record<string, { dev?: true; link?: true; optional?: true }>
  }
  const maps = readdirSync(dirname(builtWire), { recursive: true, encoding: "utf8" }).filter((file) =>
    file.endsWith(".js.map"),
  )
  const built = new Set(
    maps.flatMap((file) => {
      const { sources } = JSON.parse(readFileSync(join(dirname(builtWire), file), "utf8")) as { sources: string[] }
      return sources.flatMap(
        (source) => /node_modules\/(?:.*node_modules\/)?(?:@[^/]+\/)?[^/]+/.exec(source)?.[0] ?? [],
      )
    }),
  )
  // Maps of packages also name files from which those packages were bundled.
  const known = [...built, "node_modules/esbuild"].filter((path) => packages[path] !== undefined)
  assert.ok(known.length > 50, known.join(" "))
  assert.deepEqual(
    known.filter((path) => packages[path]?.dev === true),
    [],
  )
  const product = Object.entries(packages)
    .filter(([path, { dev, link }]) => path.startsWith("node_modules/") && dev !== true && link !== true)
    .map(([path]) => path)
    .filter((path) => existsSync(join(root, path)) && !/node_modules\/node-(?:linux|win)-/.test(path))
  const megabytes = product.reduce((sum, path) => sum + sizeOf(join(root, path)), 0) / 1e6
  assert.ok(megabytes > 20 && megabytes < 150, String(megabytes))
})

/** On a disk with blocks of 4 KB, without packages inside of this one. */
function sizeOf(folder: string): number {
  return readdirSync(folder, { withFileTypes: true }).reduce((sum, entry) => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return entry.name === "node_modules" ? sum : sum + sizeOf(path)
    return entry.isFile() ? sum + Math.ceil(statSync(path).size / 4096) * 4096 : sum
  }, 0)
}
