import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, test } from "node:test"
import { pathToFileURL } from "node:url"
import type { Diagnostic, DocumentDiagnosticReport } from "vscode-languageserver-protocol"
import type { Editor } from "./start-lsp.ts"
import { startEditor } from "./start-lsp.ts"
import { atStrength } from "../support/strength.ts"

// Files that someone else wrote, to keep the editor of whoever opens them from working.

async function problems(editor: Editor, uri: string): Promise<readonly Diagnostic[]> {
  const report = await editor.ask<DocumentDiagnosticReport>("textDocument/diagnostic", { textDocument: { uri } })
  assert.ok(report.kind === "full")
  return report.items
}

const capabilities = {
  general: { positionEncodings: ["utf-8"] },
  textDocument: { diagnostic: {}, documentSymbol: { hierarchicalDocumentSymbolSupport: true } },
}

test("a test whose workflow is a device, a pipe, a large file or another machine's is answered at once", async () => {
  const folder = mkdtempSync(join(tmpdir(), "wire-hostile-files-"))
  after(() => rmSync(folder, { recursive: true, force: true }))
  symlinkSync("/dev/zero", join(folder, "zero.wire"))
  symlinkSync("/dev/stdin", join(folder, "stdin.wire"))
  execFileSync("mkfifo", [join(folder, "pipe.wire")])
  writeFileSync(join(folder, "large.wire"), "")
  truncateSync(join(folder, "large.wire"), 1_500_000_000)
  writeFileSync(join(folder, "good.wire"), "output { a: 1 }\n")
  const editor = await startEditor(capabilities)
  const about = async (path: string): Promise<readonly string[]> => {
    const uri = pathToFileURL(join(folder, "a.test.wire")).href
    editor.open(uri, `tests ${JSON.stringify(path)}\n\ntest "t" {\n    expect output.a == 1\n}\n`)
    const found = await problems(editor, uri)
    await editor.connection.sendNotification("textDocument/didClose", { textDocument: { uri } })
    return found.flatMap(({ message }) =>
      typeof message === "string" && /cannot be read|leaves|outside/.test(message) ? [message] : [],
    )
  }
  assert.deepEqual(await about("./good.wire"), [])
  for (const path of ["./zero.wire", "./stdin.wire", "./pipe.wire", "./large.wire", "//other.example/share/a.wire"]) {
    assert.equal((await about(path)).length, 1, path)
  }
  assert.equal(await editor.end(), 0)
})

const long = atStrength(60_000, 300_000)
const texts: Readonly<Record<string, string>> = {
  "brackets in each other on one line": `dynamic { a: ${"[".repeat(long)}${"]".repeat(long)} }\n`,
  "closing brackets without opening ones": `dynamic { a: ${"(".repeat(long)}${"]".repeat(long)} }\n`,
  "one long line": `output { a: [${Array.from({ length: long / 3 }, (_, at) => at % 10).join(", ")}] }\n`,
  "half of a character, again and again": `// ${"\u{1F600}".repeat(long)}\noutput { a: 1 }\n`,
  "a file over the limit": `output { a: 1 }\n${"// comment\n".repeat(200_000)}`,
}

for (const [name, text] of Object.entries(texts)) {
  test(`every request about ${name} is answered`, async () => {
    const editor = await startEditor(capabilities)
    const uri = "file:///hostile.wire"
    const textDocument = { uri }
    const position = { line: 0, character: 20_000 }
    editor.open(uri, text)
    const found = await problems(editor, uri)
    if (text.length > 1024 * 1024) {
      assert.deepEqual(
        found.map(({ message }) => message),
        ["The file is too large: a workflow has at most 1 MiB"],
      )
    }
    await editor.ask("textDocument/foldingRange", { textDocument })
    await editor.ask("textDocument/semanticTokens/full", { textDocument })
    await editor.ask("textDocument/documentSymbol", { textDocument })
    await editor.ask("textDocument/hover", { textDocument, position })
    await editor.ask("textDocument/completion", { textDocument, position })
    await editor.ask("textDocument/documentHighlight", { textDocument, position })
    await editor.ask("textDocument/formatting", { textDocument, options: { tabSize: 4, insertSpaces: true } })
    assert.equal(await editor.end(), 0)
  })
}
