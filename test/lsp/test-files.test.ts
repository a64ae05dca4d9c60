import assert from "node:assert/strict"
import { test } from "node:test"
import type { CompletionList, Hover, Location, WorkspaceEdit } from "vscode-languageserver-protocol"
import { LanguageServer } from "../../src/lsp/language-server.ts"
import { within } from "../support/within.ts"

const workflow = `provider p from openai { endpoint: "demo" }
model m from p { id: "demo" }
/// Sorts tickets.
agent triage { model: model.m  instruction: "Hi"  output { level: string } }
output { level: agent.triage.level }
`

const tests = `test "t" {
    given agent.triage: { level: "high" }
    expect output.level == "high" && ran agent.triage
}
`

const [flow, file] = ["file:///a.wire", "file:///a.test.wire"]

interface Said {
  readonly id?: number
  readonly result?: unknown
  readonly params?: { readonly uri: string; readonly diagnostics: readonly { readonly code: string }[] }
}

/** A server in this process, and what it says. */
function startServer() {
  const said: Said[] = []
  const listeners = new Set<() => void>()
  const server = new LanguageServer({
    version: "0",
    write(bytes) {
      const text = bytes.toString()
      said.push(JSON.parse(text.slice(text.indexOf("\r\n\r\n") + 4)) as Said)
      for (const listener of listeners) listener()
    },
    log: () => undefined,
    exit: () => undefined,
  })
  const send = (message: object): void => {
    const text = JSON.stringify({ jsonrpc: "2.0", ...message })
    server.receive(Buffer.from(`Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`))
  }
  const until = (matches: (one: Said) => boolean): Promise<Said> =>
    within(
      30_000,
      "what the server says",
      new Promise((resolve) => {
        const look = (): void => {
          const found = said.findLast(matches)
          if (found === undefined) return
          listeners.delete(look)
          resolve(found)
        }
        listeners.add(look)
        look()
      }),
    )
  let id = 0
  const ask = async <T>(method: string, params: object): Promise<T> => {
    const own = ++id
    send({ id: own, method, params })
    return (await until((one) => one.id === own)).result as T
  }
  const open = (uri: string, text: string): void =>
    send({ method: "textDocument/didOpen", params: { textDocument: { uri, languageId: "wire", version: 1, text } } })
  return { send, until, ask, open }
}

test("the editor knows test files, and the workflow that they test", async () => {
  const { send, until, ask, open } = startServer()
  await ask("initialize", { processId: 1, rootUri: null, capabilities: {} })
  send({ method: "initialized", params: {} })
  open(file, tests)
  const alone = await until(({ params }) => params?.uri === file)
  assert.equal(alone.params?.diagnostics[0]?.code, "unknown-reference", "the workflow is not there")
  open(flow, workflow)
  // The tests are checked again when their workflow changes.
  await until(({ params }) => params?.uri === file && params.diagnostics.length === 0)

  const at = (line: number, word: string): { line: number; character: number } => ({
    line,
    character: (tests.split("\n")[line] ?? "").indexOf(word) + word.length,
  })
  const here = <T>(method: string, position: object): Promise<T> =>
    ask<T>(`textDocument/${method}`, { textDocument: { uri: file }, position })
  const names = async (position: object): Promise<string[]> =>
    (await here<CompletionList>("completion", position)).items.map(({ label }) => label)
  assert.deepEqual(await names(at(1, "agent.")), ["triage"])
  assert.deepEqual(await names(at(1, "given ")), ["agent", "ask", "tool", "resource", "prompt"])
  assert.deepEqual(await names(at(2, "output.")), ["level"])
  assert.ok((await names(at(2, "expect "))).includes("ran"))
  const hover = JSON.stringify(await here<Hover>("hover", at(1, "agent.tri")))
  assert.match(hover, /agent\.triage: \{ level: string \}/)
  assert.match(hover, /Sorts tickets/)
  const [place] = await here<Location[]>("definition", at(2, "ran agent.tri"))
  assert.equal(place?.uri, flow)
  assert.deepEqual(place.range.start, { line: 3, character: 6 })
})

test("references and renames of a step reach the workflow and its tests", async () => {
  const { ask, open } = startServer()
  await ask("initialize", { processId: 1, rootUri: null, capabilities: {} })
  open(flow, workflow)
  open(file, tests)
  const places = ["2:17 of tests", "3:48 of tests", "4:7 of workflow", "5:23 of workflow"]
  const show = (uri: string, { line, character }: { line: number; character: number }): string =>
    `${line + 1}:${character + 1} of ${uri === flow ? "workflow" : "tests"}`
  const inTests = { textDocument: { uri: file }, position: { line: 1, character: 19 } }
  const inWorkflow = { textDocument: { uri: flow }, position: { line: 3, character: 8 } }
  for (const at of [inTests, inWorkflow]) {
    const found = await ask<Location[]>("textDocument/references", { ...at, context: { includeDeclaration: true } })
    assert.deepEqual(found.map(({ uri, range }) => show(uri, range.start)).sort(), places)
    const { changes = {} } = await ask<WorkspaceEdit>("textDocument/rename", { ...at, newName: "sort" })
    const edits = Object.entries(changes).flatMap(([uri, some]) => some.map((edit) => ({ uri, edit })))
    assert.deepEqual(edits.map(({ uri, edit }) => show(uri, edit.range.start)).sort(), places)
    for (const { edit } of edits) {
      assert.equal(edit.newText, "sort")
      assert.equal(edit.range.end.character - edit.range.start.character, "triage".length)
    }
  }
  const prepared = await ask<{ placeholder: string }>("textDocument/prepareRename", inTests)
  assert.equal(prepared.placeholder, "triage")
  const highlights = await ask<unknown[]>("textDocument/documentHighlight", inTests)
  assert.equal(highlights.length, 2)
  // A field of the output is the workflow's, and not a step.
  const field = { textDocument: { uri: file }, position: { line: 2, character: 20 } }
  assert.deepEqual(await ask("textDocument/references", { ...field, context: {} }), [])
  assert.equal(await ask("textDocument/prepareRename", field), undefined)
})
