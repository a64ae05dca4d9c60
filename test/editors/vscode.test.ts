import assert from "node:assert/strict"
import { spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { after, before, describe, test } from "node:test"
import { createMessageConnection, StreamMessageReader, StreamMessageWriter } from "vscode-jsonrpc/node"
import type { InitializeResult } from "vscode-languageserver-protocol"
import { buildExtension } from "../../scripts/build-vscode.mjs"
import { within } from "../support/within.ts"
import { unzip } from "./unzip.ts"

describe("the package for VS Code", () => {
  let bytes: Buffer
  let files: Map<string, Buffer>
  let folder: string

  before(async () => {
    bytes = (await buildExtension()).bytes
    files = unzip(bytes)
    folder = mkdtempSync(join(tmpdir(), "wireworks-vsix-"))
    for (const [path, content] of files) {
      mkdirSync(dirname(join(folder, path)), { recursive: true })
      writeFileSync(join(folder, path), content)
    }
  })
  after(() => rmSync(folder, { recursive: true, force: true }))

  test("is a zip that others can read, and the same one every time", async () => {
    const archive = join(folder, "wire.vsix")
    writeFileSync(archive, bytes)
    const checked = spawnSync("python3", ["-m", "zipfile", "-t", archive], { encoding: "utf8" })
    if (checked.error === undefined) assert.match(checked.stdout, /Done testing/)
    assert.ok((await buildExtension()).bytes.equals(bytes))
  })

  test("holds everything that its manifests name", () => {
    const manifest = JSON.parse(String(files.get("extension/package.json"))) as {
      main: string
      version: string
      contributes: { languages: { configuration: string }[]; grammars: { path: string; scopeName: string }[] }
    }
    const named = [
      manifest.main,
      ...manifest.contributes.languages.map(({ configuration }) => configuration),
      ...manifest.contributes.grammars.map(({ path }) => path),
      "./server.mjs",
    ]
    for (const path of named) assert.ok(files.has(join("extension", path)), path)
    const vsix = String(files.get("extension.vsixmanifest"))
    for (const [, path = ""] of vsix.matchAll(/Path="([^"]+)"/g)) assert.ok(files.has(path), path)
    assert.ok(vsix.includes(`Version="${manifest.version}"`))
    const types = String(files.get("[Content_Types].xml"))
    for (const path of files.keys()) {
      const extension = path.slice(path.lastIndexOf("."))
      assert.ok(path === "[Content_Types].xml" || types.includes(`Extension="${extension}"`), path)
    }
  })

  test("has a client that an editor can load", () => {
    // The editor's own module: here a stand-in of which everything can be asked, extended and made.
    const stub = `const any = new Proxy(class {}, { get: (target, key) => (key === "prototype" ? target.prototype : any) })
module.exports = new Proxy({}, { get: (target, key) => (key === "version" ? "1.91.0" : any) })`
    mkdirSync(join(folder, "extension/node_modules/vscode"), { recursive: true })
    writeFileSync(join(folder, "extension/node_modules/vscode/index.js"), stub)
    const loaded = createRequire(import.meta.url)(join(folder, "extension/extension.cjs")) as Record<string, unknown>
    assert.deepEqual([typeof loaded["activate"], typeof loaded["deactivate"]], ["function", "function"])
  })

  test("has a server that needs nothing else", async () => {
    const child = spawn(process.execPath, [join(folder, "extension/server.mjs"), "--stdio"], {
      cwd: tmpdir(),
      stdio: "pipe",
    })
    const connection = createMessageConnection(
      new StreamMessageReader(child.stdout),
      new StreamMessageWriter(child.stdin),
    )
    const closed = once(child, "close")
    connection.listen()
    const asked = connection.sendRequest<InitializeResult>("initialize", {
      processId: null,
      rootUri: null,
      capabilities: {},
    })
    const { capabilities } = await within(30_000, "initialize", asked)
    assert.equal(capabilities.hoverProvider, true)
    const textDocument = { uri: "file:///a.wire", languageId: "wire", version: 1, text: "outptu { a: 1 }\n" }
    const pushed = new Promise<{ diagnostics: { message: string }[] }>((resolve) => {
      connection.onNotification("textDocument/publishDiagnostics", resolve)
    })
    await connection.sendNotification("textDocument/didOpen", { textDocument })
    const { diagnostics } = await within(30_000, "diagnostics", pushed)
    assert.match(diagnostics[0]?.message ?? "", /Did you mean `output`/)
    await within(30_000, "shutdown", connection.sendRequest("shutdown"))
    await connection.sendNotification("exit")
    await within(30_000, "the end", closed)
    assert.equal(child.exitCode, 0)
  })
})
