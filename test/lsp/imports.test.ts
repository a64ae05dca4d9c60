import assert from "node:assert/strict"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, test } from "node:test"
import { pathToFileURL } from "node:url"
import type { CompletionList, Diagnostic, Location } from "vscode-languageserver-protocol"
import { folderOnDisk } from "../../src/lsp/folder-on-disk.ts"
import { LanguageServer } from "../../src/lsp/language-server.ts"

interface Said {
  readonly id?: number
  readonly result?: unknown
  readonly params?: { readonly uri: string; readonly diagnostics: readonly { readonly code: string }[] }
}

const library =
  'schema task { name: string }\nprovider p from openai { endpoint: "demo" }\nmodel fast from p { id: "demo" }\n'
const main = `import { model.fast, schema.task } from "./lib/common.wire"
input { task: schema.task }
agent a { model: model.fast instruction: "{{ input.task.name }}" output { x: string } }
output { x: agent.a.x }
`

function start(root: string, isMarked = true) {
  if (isMarked) writeFileSync(join(root, "wireworks.json"), "{}")
  const said: Said[] = []
  const server = new LanguageServer({
    version: "0",
    write: (bytes) => {
      const text = bytes.toString()
      said.push(JSON.parse(text.slice(text.indexOf("\r\n\r\n") + 4)) as Said)
    },
    log: () => undefined,
    exit: () => undefined,
    folderOf: folderOnDisk,
  })
  const send = (message: object): void => {
    const text = JSON.stringify({ jsonrpc: "2.0", ...message })
    server.receive(Buffer.from(`Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`))
  }
  let asked = 0
  const ask = async <T>(method: string, params: object): Promise<T> => {
    const id = ++asked
    send({ id, method, params })
    for (;;) {
      const found = said.find((one) => one.id === id)
      if (found !== undefined) return found.result as T
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
  return { send, ask, said }
}

test("an editor sees a change in one file in the diagnostics of the files that import it, and finds declarations there", async () => {
  const root = mkdtempSync(join(tmpdir(), "wireworks-lsp-imports-"))
  after(() => rmSync(root, { recursive: true, force: true }))
  mkdirSync(join(root, "lib"))
  writeFileSync(join(root, "lib", "common.wire"), library)
  const [flow, lib] = ["main.wire", "lib/common.wire"].map((file) => pathToFileURL(join(root, file)).href)
  const { send, ask, said } = start(root)
  await ask("initialize", { capabilities: {} })
  const problems = async (uri: string | undefined): Promise<readonly string[]> => {
    // Diagnostics are pushed when nothing else is to be done.
    await ask("textDocument/foldingRange", { textDocument: { uri } })
    await new Promise((resolve) => setImmediate(resolve))
    const last = said.findLast(({ params }) => params?.uri === uri)
    return last?.params?.diagnostics.map(({ code }) => code) ?? []
  }
  const open = (uri: string | undefined, text: string): void =>
    send({ method: "textDocument/didOpen", params: { textDocument: { uri, version: 1, languageId: "wire", text } } })
  open(flow, main)
  assert.deepEqual(await problems(flow), [])

  const [target] = await ask<Location[]>("textDocument/definition", {
    textDocument: { uri: flow },
    position: { line: 2, character: main.split("\n")[2]?.indexOf("fast") ?? 0 },
  })
  assert.equal(target?.uri, lib)
  assert.deepEqual(target?.range.start, { line: 2, character: 6 })

  const { items } = await ask<CompletionList>("textDocument/completion", {
    textDocument: { uri: flow },
    position: { line: 0, character: "import { model.".length },
  })
  assert.deepEqual(
    items.map(({ label }) => label),
    ["fast"],
  )

  open(lib, library)
  const change = (text: string, version: number): void =>
    send({
      method: "textDocument/didChange",
      params: { textDocument: { uri: lib, version }, contentChanges: [{ text }] },
    })
  change(library.replace("name: string", "title: string"), 2)
  assert.deepEqual(await problems(flow), ["unknown-reference"])
  change(library.replace("schema", "shema"), 3)
  assert.deepEqual(await problems(flow), ["invalid-import"])
  change(library, 4)
  assert.deepEqual(await problems(flow), [])
})

test("in quotes after an imported api, the requests of its file are offered", async () => {
  const root = mkdtempSync(join(tmpdir(), "wireworks-lsp-operations-"))
  after(() => rmSync(root, { recursive: true, force: true }))
  const crm = `api crm { endpoint: "demo" }
/// Finds one contact.
tool find from api.crm."GET /contacts/{id}" { input { id: string } }
tool list from api.crm."GET /contacts"
`
  writeFileSync(join(root, "crm.wire"), crm)
  const text = `import { api.crm as people } from "./crm.wire"
tool mine from api.people."" { input { id: string } }
output { a: 1 }
`
  const uri = pathToFileURL(join(root, "main.wire")).href
  const { send, ask } = start(root)
  await ask("initialize", { capabilities: {} })
  send({ method: "textDocument/didOpen", params: { textDocument: { uri, version: 1, languageId: "wire", text } } })
  const { items } = await ask<CompletionList>("textDocument/completion", {
    textDocument: { uri },
    position: { line: 1, character: 'tool mine from api.people."'.length },
  })
  assert.deepEqual(
    items.map(({ label, detail }) => [label, detail]),
    [
      ["GET /contacts/{id}", "tool find"],
      ["GET /contacts", "tool list"],
    ],
  )
})

test("places in a called file that belong to a diagnostic are links to it, as it is in the editor", async () => {
  const root = mkdtempSync(join(tmpdir(), "wireworks-lsp-related-"))
  after(() => rmSync(root, { recursive: true, force: true }))
  const refunds = `input { note: string }
mcp shop { endpoint: "https://shop.example.com" }
tool refund from mcp.shop.tool.refund { requires: trusted }
dynamic { loud: upper(input.note) }
output { v: call tool.refund { input { note: dynamic.loud } } }
`
  const source = `workflow refunds from "./refunds.wire"
input { mail: untrusted string }
output { v: call workflow.refunds { input { note: input.mail } } }
`
  writeFileSync(join(root, "refunds.wire"), refunds)
  const [flow, called] = ["main.wire", "refunds.wire"].map((file) => pathToFileURL(join(root, file)).href)
  const { send, ask } = start(root)
  await ask("initialize", { capabilities: { textDocument: { diagnostic: {} } } })
  const open = (uri: string | undefined, text: string): void =>
    send({ method: "textDocument/didOpen", params: { textDocument: { uri, version: 1, languageId: "wire", text } } })
  open(flow, source)
  const places = async (): Promise<unknown> => {
    const { items } = await ask<{ items: Diagnostic[] }>("textDocument/diagnostic", { textDocument: { uri: flow } })
    return items[0]?.relatedInformation?.map(({ message, location }) => [
      message,
      location.uri,
      location.range.start.line,
    ])
  }
  assert.deepEqual(await places(), [
    ["input.mail", flow, 1],
    ["dynamic.loud", called, 3],
    ["output.v", called, 4],
  ])
  open(called, `\n${refunds}`)
  assert.deepEqual(await places(), [
    ["input.mail", flow, 1],
    ["dynamic.loud", called, 4],
    ["output.v", called, 5],
  ])
})

test("the folder that the editor has open is a root", async () => {
  const root = mkdtempSync(join(tmpdir(), "wireworks-lsp-workspace-"))
  after(() => rmSync(root, { recursive: true, force: true }))
  mkdirSync(join(root, "lib"))
  mkdirSync(join(root, "flows"))
  writeFileSync(join(root, "lib", "common.wire"), library)
  const uri = pathToFileURL(join(root, "flows", "main.wire")).href
  const text = main.replace("./lib", "../lib")
  const problemsIn = async (workspace: object): Promise<readonly string[]> => {
    const { send, ask } = start(root, false)
    await ask("initialize", { capabilities: { textDocument: { diagnostic: {} } }, ...workspace })
    send({ method: "textDocument/didOpen", params: { textDocument: { uri, version: 1, languageId: "wire", text } } })
    const { items } = await ask<{ items: { message: string }[] }>("textDocument/diagnostic", { textDocument: { uri } })
    return items.map(({ message }) => message.split("\n")[0] ?? "")
  }
  const outside = 'The path "../lib/common.wire" leaves the root folder'
  assert.deepEqual(await problemsIn({}), [outside])
  assert.deepEqual(await problemsIn({ rootUri: pathToFileURL(root).href }), [])
  assert.deepEqual(await problemsIn({ workspaceFolders: [{ uri: `${pathToFileURL(root).href}/` }] }), [])
  assert.deepEqual(await problemsIn({ workspaceFolders: [{ uri: pathToFileURL(join(root, "flows")).href }] }), [
    outside,
  ])
})
