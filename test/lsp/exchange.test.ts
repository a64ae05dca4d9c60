import assert from "node:assert/strict"
import { once } from "node:events"
import { text } from "node:stream/consumers"
import { test } from "node:test"
import { CancellationTokenSource, ResponseError } from "vscode-jsonrpc/node"
import type {
  ClientCapabilities,
  CodeAction,
  CompletionList,
  DocumentDiagnosticReport,
  DocumentHighlight,
  DocumentSymbol,
  FoldingRange,
  Hover,
  SignatureHelp,
  Location,
  Position,
  PrepareRenameResult,
  SemanticTokens,
  SymbolInformation,
  TextEdit,
  WorkspaceEdit,
} from "vscode-languageserver-protocol"
import { within } from "../support/within.ts"
import { spawnLsp, startEditor } from "./start-lsp.ts"
import { edited, positionOf } from "./text-edits.ts"

const uri = "file:///flow.wire"

const source = `input {
    /// What it is about: ünïcödé 😀
    title: string
    files: [{ path: string, patch: string }]
}

provider llm from openai {
    endpoint: "demo"
}

model fast from llm {
    id: "demo"
}

agent review for { path, patch } in input.files {
    model: model.fast
    instruction: "😀 Review {{ path }}: {{ patch }} of {{ input.title }}"

    output {
        verdict: enum { good, bad }
    }
}

output {
    verdicts: agent.review.*.verdict
}
`

/** What VS Code says that it can do, as far as the server asks. */
const full: ClientCapabilities = {
  general: { positionEncodings: ["utf-16"] },
  textDocument: {
    completion: { completionItem: { snippetSupport: true, documentationFormat: ["markdown", "plaintext"] } },
    hover: { contentFormat: ["markdown"] },
    documentSymbol: { hierarchicalDocumentSymbolSupport: true },
    codeAction: { codeActionLiteralSupport: { codeActionKind: { valueSet: ["quickfix"] } } },
    foldingRange: { lineFoldingOnly: true },
  },
  workspace: { workspaceEdit: { documentChanges: true } },
}

/** The position after (or, with `into`, inside of) a piece of text that is there once. */
function after(text: string, piece: string, into = piece.length): Position {
  assert.equal(text.split(piece).length, 2, `"${piece}" is there once`)
  return positionOf(text, text.indexOf(piece) + into)
}

test("a whole editing exchange", async () => {
  const editor = await startEditor(full)
  assert.equal(editor.initialized.serverInfo?.name, "wire")
  assert.equal(editor.initialized.capabilities.positionEncoding, "utf-16")

  editor.open(uri, source)
  assert.deepEqual((await editor.diagnostics(uri, 1)).diagnostics, [])

  // The author types an agent, letter by letter, with incremental changes.
  let text = source
  let version = 1
  const type = (at: { line: number; character: number }, insert: string): void => {
    const range = { start: at, end: at }
    text = edited(text, [{ range, newText: insert }])
    void editor.connection.sendNotification("textDocument/didChange", {
      textDocument: { uri, version: ++version },
      contentChanges: [{ range, text: insert }],
    })
  }
  const end = { line: source.split("\n").length - 1, character: 0 }
  const typed = "\nagent sum {\n    model: model."
  for (const [index, letter] of typed.split("").entries()) {
    const before = typed.slice(0, index).split("\n")
    type({ line: end.line + before.length - 1, character: before.at(-1)?.length ?? 0 }, letter)
  }
  const cursor = { line: end.line + 2, character: "    model: model.".length }
  const models = await editor.ask<CompletionList>("textDocument/completion", {
    textDocument: { uri },
    position: cursor,
  })
  assert.deepEqual(
    models.items.map(({ label, detail }) => [label, detail]),
    [["fast", '"demo"']],
  )
  assert.deepEqual(models.items[0]?.textEdit, { range: { start: cursor, end: cursor }, newText: "fast" })

  // Many changes in a row: only the last one's diagnostics have to come, and they do.
  const broken = await editor.diagnostics(uri, version)
  assert.ok(broken.diagnostics.some(({ code }) => code === "syntax-error"))
  assert.ok(broken.diagnostics.every((one) => one.source === "wire" && one.severity !== undefined))
  assert.ok(editor.published.length < typed.length + 2, `${editor.published.length} notifications`)

  // The whole text at once.
  text = `${source}\nagent sum {\n    instruction: "{{ agent.reviw }}"\n    output { text: string }\n}\n`
  await editor.connection.sendNotification("textDocument/didChange", {
    textDocument: { uri, version: ++version },
    contentChanges: [{ text }],
  })
  const found = await editor.diagnostics(uri, version)
  assert.deepEqual(
    found.diagnostics.map(({ code, severity }) => [code, severity]),
    [
      ["missing-property", 1],
      ["unknown-reference", 1],
    ],
  )
  assert.equal(found.diagnostics[1]?.message, "Unknown reference: agent.reviw\nDid you mean agent.review?")

  // Two quick fixes later it is valid.
  for (const [index, title] of ["Add `model`", "Change to `agent.review`"].entries()) {
    const diagnostic = found.diagnostics[index]
    assert.ok(diagnostic !== undefined)
    const range = index === 0 ? diagnostic.range : { start: after(text, "reviw", 2), end: after(text, "reviw", 3) }
    const actions = await editor.ask<CodeAction[]>("textDocument/codeAction", {
      textDocument: { uri },
      range,
      context: { diagnostics: [diagnostic] },
    })
    const action = actions.find((one) => one.title === title)
    assert.ok(action?.isPreferred === true && action.kind === "quickfix", JSON.stringify(actions))
    const [change] = action.edit?.documentChanges ?? []
    assert.ok(change !== undefined && "edits" in change)
    assert.deepEqual(change.textDocument, { uri, version })
    const edits = change.edits as TextEdit[]
    text = edited(text, edits)
    await editor.connection.sendNotification("textDocument/didChange", {
      textDocument: { uri, version: ++version },
      contentChanges: edits.map(({ range: where, newText }) => ({ range: where, text: newText })),
    })
  }
  assert.deepEqual((await editor.diagnostics(uri, version)).diagnostics, [])

  // Reading.
  const at = (piece: string, into?: number): object => ({ textDocument: { uri }, position: after(text, piece, into) })
  const hovered = await editor.ask<Hover>("textDocument/hover", at("of {{ input.ti"))
  assert.deepEqual(hovered.contents, {
    kind: "markdown",
    value: "```wire\ntitle: string\n```\n\nWhat it is about: ünïcödé 😀\n\nA value of the request.",
  })
  assert.deepEqual(hovered.range, { start: after(text, "of {{ input."), end: after(text, "of {{ input.title") })
  assert.equal(await editor.ask("textDocument/hover", at("What it is")), null)
  const defined = await editor.ask<Location[]>("textDocument/definition", at("of {{ input.ti"))
  assert.deepEqual(defined, [{ uri, range: { start: after(text, "    title", 4), end: after(text, "    title") } }])
  const uses = await editor.ask<Location[]>("textDocument/references", {
    ...at("agent review", 8),
    context: { includeDeclaration: false },
  })
  assert.equal(uses.length, 2)
  const marks = await editor.ask<DocumentHighlight[]>("textDocument/documentHighlight", at("agent review", 8))
  assert.deepEqual(
    marks.map(({ kind }) => kind),
    [3, 2, 2],
  )
  const outline = await editor.ask<DocumentSymbol[]>("textDocument/documentSymbol", { textDocument: { uri } })
  assert.deepEqual(
    outline.map(({ name, children }) => [name, children?.map((child) => child.name)]),
    [
      ["input", ["title", "files"]],
      ["llm", []],
      ["fast", []],
      ["review", ["verdict"]],
      ["output", ["verdicts"]],
      ["sum", ["text"]],
    ],
  )
  const folds = await editor.ask<FoldingRange[]>("textDocument/foldingRange", { textDocument: { uri } })
  assert.deepEqual(folds[0], { startLine: 0, endLine: 3 })

  const { data } = await editor.ask<SemanticTokens>("textDocument/semanticTokens/full", { textDocument: { uri } })
  const legend = editor.initialized.capabilities.semanticTokensProvider?.legend
  assert.deepEqual(data.slice(0, 5), [0, 0, "input".length, legend?.tokenTypes.indexOf("keyword"), 0])
  assert.equal(decodeTokens(text, data).get("Review"), undefined)
  assert.equal(decodeTokens(text, data).get("verdicts"), legend?.tokenTypes.indexOf("property"))

  // Renaming, formatting.
  const prepared = await editor.ask<PrepareRenameResult>("textDocument/prepareRename", at("agent review", 8))
  assert.ok("placeholder" in prepared && prepared.placeholder === "review")
  const renamed = await editor.ask<WorkspaceEdit>("textDocument/rename", { ...at("agent review", 8), newName: "look" })
  const [change] = renamed.documentChanges ?? []
  assert.ok(change !== undefined && "edits" in change)
  const looked = edited(text, change.edits as TextEdit[])
  assert.equal(looked, text.replaceAll("agent review", "agent look").replaceAll("agent.review", "agent.look"))
  await assert.rejects(editor.ask("textDocument/rename", { ...at("agent review", 8), newName: "sum" }), (error) => {
    return error instanceof ResponseError && error.code === -32803 && /declared already/.test(error.message)
  })
  await assert.rejects(
    editor.ask("textDocument/prepareRename", at("output {\n    verdicts", 3)),
    /word of the language/,
  )
  const shaped = await editor.ask<TextEdit[]>("textDocument/formatting", {
    textDocument: { uri },
    options: { tabSize: 2, insertSpaces: true },
  })
  assert.ok(shaped.length === 1 && (shaped[0]?.range.start.line ?? 0) > 24, "what is formatted already stays")
  assert.match(edited(text, shaped), /output \{\n {8}text: string\n {4}\}/)

  // Closing clears what was pushed.
  await editor.connection.sendNotification("textDocument/didClose", { textDocument: { uri } })
  assert.deepEqual((await editor.diagnostics(uri, undefined)).diagnostics, [])
  await assert.rejects(editor.ask("textDocument/hover", at("of {{ input.ti")), /is not open/)
  assert.equal(await editor.end(), 0)
})

test("the signature of a function follows the cursor", async () => {
  const editor = await startEditor(full)
  const text = 'input { list: [string] }\noutput { a: join(input.list, ", ") }\n'
  const uri = "file:///signature.wire"
  editor.open(uri, text)
  const help = await editor.ask<SignatureHelp>("textDocument/signatureHelp", {
    textDocument: { uri },
    position: after(text, 'input.list, "'),
  })
  assert.deepEqual(help, {
    signatures: [
      {
        label: "join(list, separator)",
        documentation: { kind: "markdown", value: "The elements as one text, with the separator between them." },
        parameters: [{ label: "list" }, { label: "separator" }],
        activeParameter: 1,
      },
    ],
    activeSignature: 0,
    activeParameter: 1,
  })
  const none = { textDocument: { uri }, position: { line: 0, character: 3 } }
  assert.equal(await editor.ask("textDocument/signatureHelp", none), null)
  assert.equal(await editor.end(), 0)
})

/** The last kind of each text. */
function decodeTokens(text: string, data: readonly number[]): Map<string, number> {
  const lines = text.split("\n")
  const kinds = new Map<string, number>()
  let line = 0
  let character = 0
  for (let index = 0; index < data.length; index += 5) {
    const [lineDelta = 0, characterDelta = 0, length = 0, type = 0] = data.slice(index, index + 5)
    line += lineDelta
    character = lineDelta === 0 ? character + characterDelta : characterDelta
    const written = lines[line]?.slice(character, character + length) ?? ""
    assert.equal(written.length, length, "no token goes beyond its line")
    kinds.set(written, type)
  }
  return kinds
}

test("positions in bytes of UTF-8, for a client that likes them best", async () => {
  const editor = await startEditor({ general: { positionEncodings: ["utf-8", "utf-16"] } })
  assert.equal(editor.initialized.capabilities.positionEncoding, "utf-8")
  editor.open(uri, source)
  const line = source.split("\n").findIndex((one) => one.includes("😀 Review"))
  const bytes = (piece: string): number => {
    const written = source.split("\n")[line] ?? ""
    return Buffer.byteLength(written.slice(0, written.indexOf(piece)))
  }
  const hovered = await editor.ask<Hover>("textDocument/hover", {
    textDocument: { uri },
    position: { line, character: bytes("title") + 1 },
  })
  assert.deepEqual(hovered.range, {
    start: { line, character: bytes("title") },
    end: { line, character: bytes("title") + 5 },
  })
  // Without markdown the same is plain, and without trees the outline is flat.
  assert.deepEqual(hovered.contents, {
    kind: "plaintext",
    value: "title: string\n\nWhat it is about: ünïcödé 😀\n\nA value of the request.",
  })
  const outline = await editor.ask<SymbolInformation[]>("textDocument/documentSymbol", { textDocument: { uri } })
  assert.ok(outline.some(({ name, containerName }) => name === "title" && containerName === "input"))
  // A change in bytes: the 😀 (four of them) goes.
  const start = { line, character: bytes("😀") }
  await editor.connection.sendNotification("textDocument/didChange", {
    textDocument: { uri, version: 2 },
    contentChanges: [{ range: { start, end: { line, character: start.character + 4 } }, text: "" }],
  })
  assert.deepEqual((await editor.diagnostics(uri, 2)).diagnostics, [])
  const [defined] = await editor.ask<Location[]>("textDocument/definition", {
    textDocument: { uri },
    position: { line, character: bytes("title") + 1 - 4 },
  })
  assert.equal(defined?.range.start.line, 2)
  assert.equal(await editor.end(), 0)
})

test("a client that asks for diagnostics is not pushed any", async () => {
  const editor = await startEditor({ textDocument: { diagnostic: { dynamicRegistration: false } } })
  editor.open(uri, "agent a {\n}\n")
  const first = await editor.ask<DocumentDiagnosticReport>("textDocument/diagnostic", { textDocument: { uri } })
  assert.ok(first.kind === "full" && first.items.length === 4, JSON.stringify(first))
  const again = await editor.ask<DocumentDiagnosticReport>("textDocument/diagnostic", {
    textDocument: { uri },
    previousResultId: first.resultId,
  })
  assert.deepEqual(again, { kind: "unchanged", resultId: first.resultId })
  await editor.connection.sendNotification("textDocument/didClose", { textDocument: { uri } })
  editor.open(uri, "output {\n}\n")
  const other = await editor.ask<DocumentDiagnosticReport>("textDocument/diagnostic", {
    textDocument: { uri },
    previousResultId: first.resultId,
  })
  assert.ok(other.kind === "full" && other.items.length === 0)
  assert.deepEqual(editor.published, [])
  assert.equal(await editor.end(), 0)
})

test("a request that is cancelled while it waits is not worked on", async () => {
  const editor = await startEditor({})
  editor.open(uri, source)
  const waiting = Array.from({ length: 20 }, () => {
    const source = new CancellationTokenSource()
    const position = { line: 0, character: 0 }
    const answer = editor.connection.sendRequest(
      "textDocument/hover",
      { textDocument: { uri }, position },
      source.token,
    )
    return {
      source,
      answer: answer.then(
        () => "answered",
        (error: ResponseError<unknown>) => error.code,
      ),
    }
  })
  for (const { source } of waiting.slice(10)) source.cancel()
  const ends = await Promise.all(waiting.map(({ answer }) => answer))
  assert.ok(ends.slice(0, 10).every((one) => one === "answered"))
  assert.ok(ends.slice(10).every((one) => one === "answered" || one === -32800))
  assert.ok(ends.includes(-32800), "some were still waiting")
  assert.equal(await editor.end(), 0)
})

test("an editor that goes without a word gets its answers, and leaves no server behind", async () => {
  const child = spawnLsp()
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params: { capabilities: {} } })
  child.stdin.end(`Content-Length: ${body.length}\r\n\r\n${body}`)
  const closed = once(child, "close")
  assert.match(await text(child.stdout), /"serverInfo"/)
  await within(30_000, "the end", closed)
  assert.equal(child.exitCode, 1)
})

test("the quick fix that trusts a value puts the cursor into its reason", async () => {
  const untrusted = `input {
    mail: untrusted string
}

mcp shop {
    endpoint: "demo"
}

tool refund from mcp.shop.tool.refund {
    requires: trusted
}

output {
    done: call tool.refund { input { note: input.mail } }
}
`
  const fixed = untrusted.replace("note: input.mail", 'note: trust input.mail because ""')
  for (const snippetEditSupport of [true, false]) {
    const editor = await startEditor({
      ...full,
      workspace: { workspaceEdit: { documentChanges: true, snippetEditSupport } },
    })
    editor.open(uri, untrusted)
    const [diagnostic] = (await editor.diagnostics(uri, 1)).diagnostics
    assert.equal(diagnostic?.code, "untrusted-action")
    const actions = await editor.ask<CodeAction[]>("textDocument/codeAction", {
      textDocument: { uri },
      range: diagnostic.range,
      context: { diagnostics: [diagnostic] },
    })
    const action = actions.find(({ title }) => title.startsWith("Trust") || title.includes("because"))
    const [change] = action?.edit?.documentChanges ?? []
    assert.ok(change !== undefined && "edits" in change, JSON.stringify(actions))
    const values = change.edits.map((edit) => ("snippet" in edit ? edit.snippet.value : edit.newText))
    assert.equal(values.includes(' because "$0"'), snippetEditSupport, JSON.stringify(values))
    const edits = change.edits.map(({ range }, at) => ({ range, newText: (values[at] ?? "").replace("$0", "") }))
    assert.equal(edited(untrusted, edits), fixed)
    assert.equal(await editor.end(), 0)
  }
})
