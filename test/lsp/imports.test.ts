import assert from "node:assert/strict"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, test } from "node:test"
import { pathToFileURL } from "node:url"
import type { CompletionList, Diagnostic, Location } from "vscode-languageserver-protocol"
import { startTalk } from "./start-lsp.ts"

const library =
  'schema task { name: string }\nprovider p from openai { endpoint: "demo" }\nmodel fast from p { id: "demo" }\n'
const main = `import { model.fast, schema.task } from "./lib/common.wire"
input { task: schema.task }
agent a { model: model.fast instruction: "{{ input.task.name }}" output { x: string } }
output { x: agent.a.x }
`

function start(root: string, isMarked = true) {
  if (isMarked) writeFileSync(join(root, "wireworks.json"), "{}")
  return startTalk()
}

test("an editor sees a change in one file in the diagnostics of the files that import it, and finds declarations there", async () => {
  const root = mkdtempSync(join(tmpdir(), "wireworks-lsp-imports-"))
  after(() => rmSync(root, { recursive: true, force: true }))
  mkdirSync(join(root, "lib"))
  writeFileSync(join(root, "lib", "common.wire"), library)
  const uriOf = (file: string): string => pathToFileURL(join(root, file)).href
  const [flow, lib] = [uriOf("main.wire"), uriOf("lib/common.wire")] as const
  const { send, ask, untilCodes, open } = start(root)
  await ask("initialize", { capabilities: {} })
  open(flow, main)
  await untilCodes(flow, [])

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
  await untilCodes(flow, ["unknown-reference"])
  change(library.replace("schema", "shema"), 3)
  await untilCodes(flow, ["invalid-import"])
  change(library, 4)
  await untilCodes(flow, [])
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
  const uriOf = (file: string): string => pathToFileURL(join(root, file)).href
  const [flow, called] = [uriOf("main.wire"), uriOf("refunds.wire")] as const
  const { ask, open } = start(root)
  await ask("initialize", { capabilities: { textDocument: { diagnostic: {} } } })
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
