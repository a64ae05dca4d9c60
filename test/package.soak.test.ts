import assert from "node:assert/strict"
import { spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { after, before, describe, test } from "node:test"
import { findOlderNode, noOlderNode } from "../scripts/older-node.mjs"
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
  const older = findOlderNode()
  const skip = older === null && noOlderNode
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
    npm(["install", `./${archive}`, "--offline", "--omit=optional", "--ignore-scripts"], project)
    wire = join(project, "node_modules", "wireworks", "dist", "wire.js")
    cpSync(join(root, "examples", "hello.wire"), join(project, "hello.wire"))
    cpSync(join(root, "examples", "hello.input.json"), join(project, "hello.input.json"))
  })

  test("depends on no other package", () => {
    const about = JSON.parse(readFileSync(join(project, "node_modules", "wireworks", "package.json"), "utf8")) as object
    assert.ok(!("dependencies" in about))
    assert.ok(!readdirSync(join(project, "node_modules", "wireworks", "dist")).includes(".compiled"))
  })

  test("is what a project that `wire init` began installs", () => {
    assert.equal(run(node, ["init", "begun"]).status, 0)
    for (const file of ["README.md", ".github/workflows/workflows.yml"]) {
      const text = readFileSync(join(project, "begun", file), "utf8")
      const installed = [...text.matchAll(/npm install (?:--global )?(\S+)/g)].map((found) => found[1])
      assert.ok(installed.length > 0)
      assert.deepEqual(new Set(installed), new Set([`./${archive}`]))
    }
  })

  test("has a client", () => {
    const script = 'import { createClient } from "wireworks/client"; console.log(typeof createClient)'
    const { stdout } = spawnSync(node, ["--input-type=module", "-e", script], { cwd: project, encoding: "utf8" })
    assert.equal(stdout, "function\n")
  })

  test("on an older Node without the one that comes with it, it says what is needed", { skip }, () => {
    assert.ok(older !== null)
    const version = spawnSync(older, ["--version"], { encoding: "utf8" }).stdout.trim()
    const { status, stderr } = run(older, ["--version"])
    assert.deepEqual([status, stderr], [2, `wire needs Node 24 or newer, and this is ${version}.\n`])
  })

  worksOn("this Node", node)
  worksOn("an older Node, with the one that comes with the package", older)

  function worksOn(what: string, by: string | null): void {
    describe(`on ${what}`, { skip: by === null && noOlderNode }, () => {
      assert.ok(by !== null)
      before(() => {
        if (by === node) return
        const name = `node-${process.platform === "win32" ? "win" : process.platform}-${process.arch}`
        symlinkSync(join(root, "node_modules", name), join(project, "node_modules", name))
      })

      test("check and run", () => {
        const checked = run(by, ["check", "hello.wire"])
        assert.deepEqual([checked.status, checked.stderr], [0, ""])
        assert.equal(run(by, ["check", "--stdin"], "nonsense").status, 1)
        const ran = run(by, ["run", "hello.wire", "--input", "hello.input.json"])
        assert.equal(ran.status, 0, ran.stderr)
        assert.equal(typeof (JSON.parse(ran.stdout) as { greeting: unknown }).greeting, "string")
      })

      test("serve", async () => {
        const service = await startService(by, [wire, "serve"], { WIRE_PORT: "0", WIRE_STORE: "memory" })
        assert.equal((await fetch(`${service.address}/playground`)).status, 200)
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
