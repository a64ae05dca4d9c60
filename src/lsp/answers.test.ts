import assert from "node:assert/strict"
import { test } from "node:test"
import { compile } from "../compile.ts"
import { complete } from "../editor/complete.ts"
import { hover } from "../editor/hover.ts"
import { symbols } from "../editor/symbols.ts"
import { toCompletionList, toDiagnostic, toHover, toSymbol } from "./answers.ts"
import { clientOf } from "./client.ts"
import { TextDocument } from "./text-document.ts"

const hidden = "\u001b[2J\u202e\u200b\u{e0061}"
const anyHidden = /[\p{Cc}\p{Bidi_Control}\u200b\u{e0061}]/u
const source = `input {
    /// See ![it](http://thief.example/seen.png) ${hidden}
    level: enum { "a\\n\`\`\`${hidden}", b }
}
output { level: input.level == "${hidden}" same: input.level }
`

const markdown = clientOf({
  capabilities: {
    textDocument: {
      hover: { contentFormat: ["markdown"] },
      completion: { completionItem: { documentationFormat: ["markdown"] } },
      documentSymbol: { hierarchicalDocumentSymbolSupport: true },
    },
  },
})

test("what an editor shows of a file has no hidden characters, no images, and no block of code that ends early", () => {
  const { program, diagnostics } = compile(source)
  const document = new TextDocument("file:///a.wire", source, 1, "utf-16")
  const found = hover(program, source.indexOf("level:") + 1)
  assert.ok(found !== undefined)
  const { contents } = toHover(document, found, markdown)
  const { value } = contents as { value: string }
  assert.match(value, /^```wire\nlevel: enum \{ "a\\n```[^\n]*\n```\n\nSee !\\\[it\]/)
  const shown = [
    toHover(document, found, markdown),
    ...diagnostics.map((one) => toDiagnostic(document, one)),
    ...symbols(program).map((one) => toSymbol(document, one)),
    toCompletionList(document, complete(program, source.indexOf("input.level ==") + "input.".length), markdown),
  ]
  assert.ok(diagnostics.length > 0)
  assert.doesNotMatch(JSON.stringify(shown.map(withoutEdits)), anyHidden)
})

/** Edits have the text as it is. */
function withoutEdits(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value, (key, item: unknown) => (/edit/i.test(key) ? undefined : item)))
}
