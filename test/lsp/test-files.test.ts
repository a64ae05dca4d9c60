import assert from "node:assert/strict"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, test } from "node:test"
import { pathToFileURL } from "node:url"
import type {
  CodeLens,
  CompletionList,
  Hover,
  InlayHint,
  Location,
  WorkspaceEdit,
} from "vscode-languageserver-protocol"
import { startTalk } from "./start-lsp.ts"

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

test("the editor knows test files, and the workflow that they test", async () => {
  const { send, until, ask, open } = startTalk()
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
  assert.deepEqual(await names(at(1, "given ")), ["agent", "ask", "wait", "tool", "resource", "prompt", "run"])
  assert.deepEqual(await names(at(2, "output.")), ["level"])
  assert.ok((await names(at(2, "expect "))).includes("ran"))
  const hover = JSON.stringify(await here<Hover>("hover", at(1, "agent.tri")))
  assert.match(hover, /agent\.triage: \{ level: string \}/)
  assert.match(hover, /Sorts tickets/)
  const [place] = await here<Location[]>("definition", at(2, "ran agent.tri"))
  assert.equal(place?.uri, flow)
  assert.deepEqual(place.range.start, { line: 3, character: 6 })
})

test("the editor completes the steps of called files in tests", async () => {
  const folder = mkdtempSync(join(tmpdir(), "wireworks-lsp-called-"))
  after(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, "inner.wire"), workflow)
  const caller = 'workflow inner from "./inner.wire" {}\noutput { level: call workflow.inner }\n'
  writeFileSync(join(folder, "caller.wire"), caller)
  const [main, own] = ["caller.wire", "caller.test.wire"].map((name) => pathToFileURL(join(folder, name)).href)
  const { ask, open } = startTalk()
  await ask("initialize", { processId: 1, rootUri: pathToFileURL(folder).href, capabilities: {} })
  open(main ?? "", caller)
  const lines = ["given ", "given workflow.", "given workflow.inner.", "given workflow.inner.agent."]
  open(own ?? "", `test "t" {\n${lines.join("\n")}\n}\n`)
  const names = async (line: number): Promise<string[]> => {
    const position = { line: line + 1, character: lines[line]?.length ?? 0 }
    const { items } = await ask<CompletionList>("textDocument/completion", { textDocument: { uri: own }, position })
    return items.map(({ label }) => label)
  }
  assert.deepEqual(await names(0), ["agent", "ask", "wait", "tool", "resource", "prompt", "workflow", "run"])
  assert.deepEqual(await names(1), ["inner"])
  assert.deepEqual(await names(2), ["agent", "ask", "wait", "tool", "resource", "prompt"])
  assert.deepEqual(await names(3), ["triage"])
})

test("references and renames of a step reach the workflow and its tests", async () => {
  const { ask, open } = startTalk()
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

test("a rename reaches test files that are not open, in the workflow's folder and in the workspace", async () => {
  const folder = mkdtempSync(join(tmpdir(), "wireworks-closed (tests)-"))
  after(() => rmSync(folder, { recursive: true }))
  mkdirSync(join(folder, "flows"))
  mkdirSync(join(folder, "more", "node_modules"), { recursive: true })
  const files = {
    "flows/a.wire": workflow,
    "flows/a.test.wire": tests,
    "flows/open.test.wire": `tests "./a.wire"\n${tests}`,
    "flows/b.test.wire": tests,
    "flows/b.wire": workflow,
    "more/far.test.wire": `tests "../flows/a.wire"\n${tests}`,
    "more/node_modules/installed.test.wire": `tests "../../flows/a.wire"\n${tests}`,
  }
  for (const [path, text] of Object.entries(files)) writeFileSync(join(folder, path), text)
  const at = (path: string): string => pathToFileURL(join(folder, path)).href
  // As VS Code writes addresses.
  const escaped = (path: string): string => at(path).replace("(", "%28").replace(")", "%29")
  for (const workspaceFolders of [[{ uri: at("."), name: "all" }], null]) {
    const { ask, open } = startTalk()
    const capabilities = { workspace: { workspaceEdit: { documentChanges: true } } }
    await ask("initialize", { processId: 1, rootUri: null, workspaceFolders, capabilities })
    // The stored text of these is older than what the editor has.
    open(escaped("flows/a.wire"), `// new\n${workflow}`)
    open(escaped("flows/open.test.wire"), `// new\ntests "./a.wire"\n${tests}`)
    const { documentChanges = [] } = await ask<WorkspaceEdit>("textDocument/rename", {
      textDocument: { uri: escaped("flows/a.wire") },
      position: { line: 4, character: 8 },
      newName: "sort",
    })
    const changed = documentChanges.flatMap((change) => ("textDocument" in change ? [change] : []))
    assert.deepEqual(
      changed.map(({ textDocument: { uri, version }, edits }) => `${uri} ${version} ${edits.length}`).sort(),
      [
        `${escaped("flows/a.wire")} 1 2`,
        `${escaped("flows/open.test.wire")} 1 2`,
        `${at("flows/a.test.wire")} null 2`,
        ...(workspaceFolders === null ? [] : [`${at("more/far.test.wire")} null 2`]),
      ].sort(),
    )
  }
})

test("a test of a workflow outside of the root says so", async () => {
  const folder = mkdtempSync(join(tmpdir(), "wireworks-lsp-outside-"))
  after(() => rmSync(folder, { recursive: true }))
  mkdirSync(join(folder, "checks"))
  writeFileSync(join(folder, "a.wire"), workflow)
  const uri = pathToFileURL(join(folder, "checks", "a.test.wire")).href
  const { ask, open, until } = startTalk()
  await ask("initialize", { processId: 1, rootUri: null, capabilities: {} })
  open(uri, `tests "../a.wire"\n${tests}`)
  const { params } = await until((one) => one.params?.uri === uri)
  assert.match(params?.diagnostics[0]?.message ?? "", /^The path "\.\.\/a\.wire" leaves the root folder/)
})

test("a diagnostic's code leads to its page, except in editors that say they show no links", async () => {
  for (const codeDescriptionSupport of [true, false, undefined]) {
    const { ask, open, until } = startTalk()
    const capabilities = { textDocument: { publishDiagnostics: { codeDescriptionSupport } } }
    await ask("initialize", { processId: 1, rootUri: null, capabilities })
    open(flow, "outptu { a: 1 }\n")
    const { params } = await until((one) => one.params?.uri === flow)
    for (const { code, codeDescription } of params?.diagnostics ?? []) {
      const { href } = (codeDescription ?? {}) as { readonly href?: string }
      if (codeDescriptionSupport === false) assert.equal(href, undefined)
      else assert.match(readFileSync(new URL(href ?? ""), "utf8"), new RegExp(`^# ${code} \\((error|warning)\\)\n`))
    }
    assert.ok((params?.diagnostics.length ?? 0) > 0)
  }
})

test("tests have lenses to run and to record them; hints show the types of values and loop variables", async () => {
  const { ask, open } = startTalk()
  const { capabilities } = await ask<{ capabilities: object }>("initialize", {
    processId: 1,
    rootUri: null,
    capabilities: {},
  })
  assert.ok("inlayHintProvider" in capabilities && "codeLensProvider" in capabilities)
  const source = `input { rows: [{ id: integer }] }
dynamic { ids: input.rows.*.id }
dynamic { twice: [one * 2 for one in dynamic.ids] }
provider p from openai { endpoint: "demo" }
model m from p { id: "demo" }
agent look for row in input.rows {
    model: model.m
    dynamic { text: "{{ row.id }}" }
    instruction: dynamic.text
    output { ok: boolean }
}
output { ok: agent.look.*.ok  twice: dynamic.twice }
`
  open("file:///h.wire", source)
  open(file, tests)
  const hints = async (end: number): Promise<string[]> => {
    const range = { start: { line: 0, character: 0 }, end: { line: end, character: 0 } }
    const found = await ask<InlayHint[]>("textDocument/inlayHint", { textDocument: { uri: "file:///h.wire" }, range })
    return found.map(({ position, label }) => `${position.line}:${position.character}${JSON.stringify(label)}`)
  }
  assert.deepEqual(await hints(99), [
    '1:13": [integer]"',
    '2:15": [integer]"',
    '2:33": integer"',
    '5:18": { id: integer }"',
    '7:18": string"',
  ])
  assert.equal((await hints(2)).length, 1, "only those of the part that is shown")
  const lenses = await ask<CodeLens[]>("textDocument/codeLens", { textDocument: { uri: file } })
  assert.deepEqual(
    lenses.map(({ command }) => [command?.title, command?.command, command?.arguments]),
    [
      ["Run", "wire.runTest", [{ uri: file, title: "t", command: ["wire", "test", "/a.test.wire", "--title", "t"] }]],
      [
        "Record",
        "wire.recordTest",
        [{ uri: file, title: "t", command: ["wire", "test", "/a.test.wire", "--title", "t", "--record"] }],
      ],
    ],
  )
  assert.deepEqual(await ask("textDocument/codeLens", { textDocument: { uri: "file:///h.wire" } }), [])
})
