import assert from "node:assert/strict"
import { spawn, spawnSync } from "node:child_process"
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { after, before, describe, test } from "node:test"
import { startService } from "./cli/run-wire.ts"
import { builtWire } from "./support/built-wire.ts"
import { otherNode } from "./support/other-node.ts"
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
  const node = process.execPath
  const run = (args: readonly string[], input = "", by = node) =>
    spawnSync(by, [wire, ...args], { cwd: project, input, encoding: "utf8" })

  before(() => {
    // In the temporary folder no folder above has packages that could help out.
    const stage = mkdtempSync(join(tmpdir(), "wireworks-pack-"))
    project = mkdtempSync(join(tmpdir(), "wireworks-project-"))
    folders.push(stage, project)
    for (const name of ["package.json", "README.md", "CHANGELOG.md", "LICENSE", "docs", "examples"]) {
      cpSync(join(root, name), join(stage, name), { recursive: true })
    }
    cpSync(dirname(builtWire), join(stage, "dist"), { recursive: true })
    npm(["pack", "--ignore-scripts", "--pack-destination", project], stage)
    const [archive = ""] = readdirSync(project).filter((name) => name.endsWith(".tgz"))
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

  test("checks and runs a workflow", () => {
    assert.equal(run(["check", "hello.wire"]).status, 0)
    const ran = run(["run", "hello.wire", "--input", "hello.input.json"])
    assert.equal(ran.status, 0, ran.stderr)
    assert.equal(typeof (JSON.parse(ran.stdout) as { greeting: unknown }).greeting, "string")
  })

  test("serves", async () => {
    const service = await startService(node, [wire, "serve"], { WIRE_PORT: "0", WIRE_STORE: "memory" })
    assert.equal((await fetch(`${service.address}/playground`)).status, 200)
    service.child.kill("SIGTERM")
    assert.equal((await within(30_000, "the end", service.ended)).code, 0)
  })

  test("answers editors", async () => {
    const child = spawn(node, [wire, "lsp"], { cwd: project, stdio: ["pipe", "pipe", "inherit"] })
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
  })

  test("has a client", () => {
    const script = 'import { createClient } from "wireworks/client"; console.log(typeof createClient)'
    const { stdout } = spawnSync(node, ["--input-type=module", "-e", script], { cwd: project, encoding: "utf8" })
    assert.equal(stdout, "function\n")
  })

  const other = otherNode()
  const skip = other === undefined && "the machine has no other Node than the pinned one"
  test("on an older Node it runs on the one that comes with it, or says what is needed", { skip }, async (t) => {
    assert.ok(other !== undefined)
    const version = spawnSync(other, ["--version"], { encoding: "utf8" }).stdout.trim()
    if (Number(/^v(\d+)/.exec(version)?.[1]) >= 24) return t.skip("the machine's other Node is new enough")
    const alone = run(["--version"], "", other)
    assert.deepEqual([alone.status, alone.stderr], [2, `wire needs Node 24 or newer, and this is ${version}.\n`])
    const system = process.platform === "win32" ? "win" : process.platform
    const name = `node-${system}-${process.arch}`
    mkdirSync(join(project, "node_modules"), { recursive: true })
    symlinkSync(join(root, "node_modules", name), join(project, "node_modules", name))
    const checked = run(["check", "hello.wire"], "", other)
    assert.deepEqual([checked.status, checked.stderr], [0, ""])
    const wrong = run(["check", "--stdin"], "nonsense", other)
    assert.equal(wrong.status, 1)
    const service = await startService(other, [wire, "serve"], { WIRE_PORT: "0", WIRE_STORE: "memory" })
    service.child.kill("SIGTERM")
    assert.deepEqual(await within(30_000, "the end", service.ended), { code: 0, signal: null })
  })
})
