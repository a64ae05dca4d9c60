import type * as Lsp from "vscode-languageserver-protocol"
import { fileURLToPath } from "node:url"
import type { TextDocument } from "./text-document.ts"

/**
 * Above each test: run it, and run it with calls that are not recorded yet. The editor's extension has the commands; the argument says
 * what to run in a terminal, for editors that have none.
 */
export function testLenses(document: TextDocument): Lsp.CodeLens[] {
  return document.compiled.program.tree.declarations.flatMap((declaration): Lsp.CodeLens[] => {
    if (declaration.kind !== "test") return []
    const title = declaration.title.texts[0] ?? ""
    const range = document.range(declaration.keyword)
    const lens = (name: string, command: string, flags: readonly string[]): Lsp.CodeLens => {
      const run = ["wire", "test", pathOf(document.uri), "--title", title, ...flags]
      return { range, command: { title: name, command, arguments: [{ uri: document.uri, title, command: run }] } }
    }
    return [lens("Run", "wire.runTest", []), lens("Record", "wire.recordTest", ["--record"])]
  })
}

function pathOf(uri: string): string {
  try {
    return fileURLToPath(uri)
  } catch {
    return uri
  }
}
