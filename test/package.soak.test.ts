import assert from "node:assert/strict"
import { execFile, spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { after, before, describe, test } from "node:test"
import { promisify } from "node:util"
import { findNode, whyNoNode } from "../scripts/other-nodes.mjs"
import { startService } from "./cli/run-wire.ts"
import { within } from "./support/within.ts"

const root = dirname(import.meta.dirname)

/** Runs npm far from the project's settings. */
function npm(args: readonly string[], cwd: string): string {
  const { status, stdout, stderr } = spawnSync("npm", [...args, "--no-audit", "--no-fund"], { cwd, encoding: "utf8" })
  assert.equal(status, 0, `npm ${args.join(" ")}: ${stderr}`)
  return stdout
}

describe("the package", () => {
  const folders: string[] = []
  after(() => {
    for (const folder of folders) rmSync(folder, { recursive: true, force: true })
  })
  let project: string
  let wire: string
  let archive: string
  const node = process.execPath
  const older = findNode("20.0.0")
  const skip = older === null && whyNoNode("20.0.0")
  const run = (by: string, args: readonly string[], input = "") =>
    spawnSync(by, [wire, ...args], { cwd: project, input, encoding: "utf8" })

  before(() => {
    // In the temporary folder no folder above has packages that could help out.
    project = mkdtempSync(join(tmpdir(), "wireworks-project-"))
    folders.push(project)
    const packed = spawnSync(older ?? node, [join(root, "scripts", "package.mjs"), project], { encoding: "utf8" })
    assert.equal(packed.status, 0, packed.stderr)
    ;[archive = ""] = readdirSync(project).filter((name) => /^wireworks-\d.*\.tgz$/.test(name))
    writeFileSync(join(project, "package.json"), JSON.stringify({ name: "mine", private: true, type: "module" }))
    // Without a network: the package brings all that it needs, but for a Node.
    npm(["install", `./${archive}`, "--offline"], project)
    wire = join(project, "node_modules", "wireworks", "dist", "wire.js")
    cpSync(join(root, "examples", "hello.wire"), join(project, "hello.wire"))
    cpSync(join(root, "examples", "hello.input.json"), join(project, "hello.input.json"))
  })

  test("depends on no other package, brings no Node and no scripts, and weighs 27 MB at most", () => {
    const installed = join(project, "node_modules", "wireworks")
    const about = JSON.parse(readFileSync(join(installed, "package.json"), "utf8")) as Record<string, unknown>
    for (const field of ["dependencies", "optionalDependencies", "scripts"]) assert.ok(!(field in about), field)
    assert.ok(!readdirSync(join(installed, "dist")).includes(".compiled"))
    const commands = readdirSync(join(project, "node_modules", ".bin")).map((name) => name.replace(/\.(cmd|ps1)$/, ""))
    assert.deepEqual([...new Set(commands)], ["wire"])
    const bytes = readdirSync(installed, { recursive: true, encoding: "utf8" })
      .map((name) => statSync(join(installed, name)))
      .reduce((sum, file) => sum + (file.isFile() ? file.size : 0), 0)
    assert.ok(bytes < 27_000_000, `${bytes} bytes`)
  })

  test("is what a project that `wire init` began installs", () => {
    const { status, stdout } = run(node, ["init", "begun"])
    assert.equal(status, 0)
    const begun = join(project, "begun")
    // What it prints, without a network: TypeScript is that of this project.
    const [pack = "", install] =
      stdout
        .split("cd begun\n")[1]
        ?.split("\n")
        .map((line) => line.trim()) ?? []
    const packed = spawnSync("sh", ["-c", `${pack} --offline`], { cwd: begun, encoding: "utf8" })
    assert.equal(packed.status, 0, `${pack}: ${packed.stderr}`)
    assert.ok(existsSync(join(begun, archive)), pack)
    assert.equal(install, "npm install")
    const about = JSON.parse(readFileSync(join(begun, "package.json"), "utf8")) as { devDependencies: object }
    const { wireworks } = about.devDependencies as { wireworks: string }
    writeFileSync(join(begun, "package.json"), JSON.stringify({ ...about, devDependencies: { wireworks } }))
    npm(["install", "--offline"], begun)
    symlinkSync(join(root, "node_modules", "typescript"), join(begun, "node_modules", "typescript"))
    symlinkSync(join(root, "node_modules", ".bin", "tsc"), join(begun, "node_modules", ".bin", "tsc"))
    for (const script of ["test", "check"]) npm(["run", script], begun)
  })

  const archives = () => readdirSync(project).filter((name) => /^wireworks-.*\.tgz$/.test(name))

  test("publint and attw find nothing in the packages, and npm would publish them", () => {
    assert.equal(archives().length, 2)
    for (const name of archives()) {
      const path = join(project, name)
      const tool = (bin: string, args: readonly string[]) =>
        spawnSync(join(root, "node_modules", ".bin", bin), args, { cwd: project, encoding: "utf8" })
      const linted = tool("publint", ["run", path, "--strict"])
      assert.equal(linted.status, 0, linted.stdout + linted.stderr)
      assert.match(linted.stdout, /All good!/)
      // ES modules alone: a `require` of them is what Node 22 has for it.
      const typed = tool("attw", [path, "--profile", "esm-only", "--format", "ascii", "--no-emoji"])
      assert.equal(typed.status, 0, typed.stdout + typed.stderr)
      const published = spawnSync("npm", ["publish", "--dry-run", "--access", "public", path], { encoding: "utf8" })
      const warnings = published.stderr.split("\n").filter((line) => /^npm (?:warn|error)/.test(line))
      assert.equal(published.status, 0, published.stderr)
      // The first is about the machine, the second about a login, which a dry run does without.
      assert.deepEqual(
        warnings.filter((line) => !/Unknown (?:user|project|env|global) config|logged in/.test(line)),
        [],
      )
    }
  })

  test("the links of the READMEs lead to files that the package has", () => {
    const installed = join(project, "node_modules", "wireworks")
    for (const name of archives()) {
      const { stdout } = spawnSync("tar", ["-xzOf", join(project, name), "package/README.md"], { encoding: "utf8" })
      const links = [...stdout.matchAll(/\]\(([^)#]+)(?:#[^)]*)?\)/g)].map((found) => found[1] ?? "")
      assert.ok(links.length > 0, name)
      for (const link of links) {
        const [, path] = /^https:\/\/unpkg\.com\/wireworks@[\d.]+\/(.+)$/.exec(link) ?? []
        assert.ok(path !== undefined || /^https?:/.test(link), link)
        if (path !== undefined) assert.ok(existsSync(join(installed, path)), link)
      }
    }
  })

  test("has a client", () => {
    const script = 'import { createClient } from "wireworks/client"; console.log(typeof createClient)'
    const { stdout } = spawnSync(node, ["--input-type=module", "-e", script], { cwd: project, encoding: "utf8" })
    assert.equal(stdout, "function\n")
  })

  test("an older Node is refused with a sentence that says what to do", { skip }, () => {
    assert.ok(older !== null)
    const version = spawnSync(older, ["--version"], { encoding: "utf8" }).stdout.trim()
    const { status, stderr } = run(older, ["--version"])
    assert.equal(status, 2)
    assert.equal(
      stderr,
      `wire needs Node 22.13 or newer, and this is ${version}. Install a newer one from https://nodejs.org.\n`,
    )
    const { engines } = JSON.parse(readFileSync(join(root, "packages", "command", "package.json"), "utf8")) as {
      engines: { node: string }
    }
    assert.equal(engines.node, ">=22.13.0")
  })

  worksOn("this Node", node, false)
  worksOn("the oldest Node that it takes", findNode("22.13.1"), whyNoNode("22.13.1"))
  worksOn("a newer Node", findNode("26.10.0"), whyNoNode("26.10.0"))

  function worksOn(what: string, by: string | null, why: string | false): void {
    describe(`on ${what}`, { skip: by === null && why }, () => {
      assert.ok(by !== null)

      test("check and run", () => {
        const checked = run(by, ["check", "hello.wire"])
        assert.deepEqual([checked.status, checked.stderr], [0, ""])
        assert.equal(run(by, ["check", "--stdin"], "nonsense").status, 1)
        const ran = run(by, ["run", "hello.wire", "--input", "hello.input.json"])
        assert.equal(ran.status, 0, ran.stderr)
        assert.doesNotMatch(ran.stderr, /Warning/)
        assert.equal(typeof (JSON.parse(ran.stdout) as { greeting: unknown }).greeting, "string")
        const imported = run(by, [
          "api",
          "import",
          join(root, "test", "fixtures", "openapi", "petstore.yaml"),
          "--as",
          "pets",
        ])
        assert.equal(imported.status, 0, imported.stderr)
      })

      test("serve", async () => {
        const service = await startService(by, [wire, "serve"], {
          WIRE_PORT: "0",
          WIRE_DATA_DIR: join(project, `data-${what}`),
        })
        assert.equal((await fetch(`${service.address}/playground`)).status, 200)
        const source = readFileSync(join(project, "hello.wire"), "utf8")
        const workflow_source_base64 = Buffer.from(source).toString("base64")
        const answer = await fetch(`${service.address}/execute`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ workflow_source_base64, input: { name: "Ada" } }),
        })
        assert.equal(answer.status, 200, await answer.text())
        const call = `import { createClient } from "wireworks/client"
          const { output } = await createClient({ baseUrl: "${service.address}" }).execute({ file: "hello.wire", input: { name: "Ada" } })
          console.log(output.greeting)`
        const args = ["--input-type=module", "-e", call]
        // Not `spawnSync`: this process reads what the service writes.
        const called = await promisify(execFile)(by, args, { cwd: project })
        assert.equal(called.stdout, "Hello, Ada.\n", called.stderr)
        assert.doesNotMatch(service.output(), /Warning/)
        service.child.kill("SIGTERM")
        assert.deepEqual(await within(30_000, "the end", service.ended), { code: 0, signal: null })
      })

      test("lsp", async () => {
        const child = spawn(by, [wire, "lsp"], { cwd: project, stdio: ["pipe", "pipe", "inherit"] })
        const ended = once(child, "close")
        after(() => child.kill("SIGKILL"))
        const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params: { capabilities: {} } })
        child.stdin.write(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`)
        const answer = new Promise<string>((resolve) => {
          let text = ""
          child.stdout.on("data", (chunk: Buffer) => {
            text += chunk.toString()
            if (text.includes("textDocumentSync")) resolve(text)
          })
        })
        assert.match(await within(30_000, "the answer", answer), /^Content-Length: \d+/)
        child.stdin.end()
        await within(30_000, "the end of the server", ended)
      })
    })
  }
})
