import { visibleLines, visibleText } from "../base/visible-text.ts"
import type * as Lsp from "vscode-languageserver-protocol"
import type { CodeAction } from "../editor/code-actions.ts"
import type { Completion, CompletionKind, Completions } from "../editor/completion.ts"
import type { Edit } from "../editor/edit.ts"
import type { Fold } from "../editor/folding.ts"
import type { Hover } from "../editor/hover.ts"
import type { SignatureHelp } from "../editor/signature-help.ts"
import { tokenModifiers, tokenTypes, type SemanticToken } from "../editor/semantic-tokens.ts"
import type { DocumentSymbol, SymbolKind } from "../editor/symbols.ts"
import type { Diagnostic, Related } from "../source/diagnostic.ts"
import type { PlacedEdits } from "./across-tests.ts"
import type { Client } from "./client.ts"
import type { TextDocument } from "./text-document.ts"

// What the editor's functions give, in the shapes of the protocol. Names and comments come from files that others may have
// written: what is shown of them has no hidden characters; edits have the text as it is.

export function toDiagnostic(
  document: TextDocument,
  { code, severity, message, hint, span, related = [], elsewhere }: Diagnostic,
  codePage?: (code: string) => string | undefined,
  uriOf?: (file: string) => string | undefined,
): Lsp.Diagnostic {
  const href = codePage?.(code)
  const inCode = elsewhere === undefined ? [] : [{ message, span: elsewhere.span, elsewhere }]
  const places = [...inCode, ...related]
  const tags: Lsp.DiagnosticTag[] = code === "unused-declaration" || code === "unreachable-branch" ? [1] : []
  return {
    range: document.range(span),
    severity: severity === "error" ? 1 : 2,
    code,
    ...(href === undefined ? {} : { codeDescription: { href } }),
    source: "wire",
    message: hint === undefined ? message : `${message}\n${hint}`,
    ...(tags.length === 0 ? {} : { tags }),
    ...(places.length > 0 && { relatedInformation: places.flatMap((one) => toRelated(document, one, uriOf)) }),
  }
}

/** A place in another file is left out where nothing says what its address is. */
function toRelated(
  document: TextDocument,
  { message, span, elsewhere }: Related,
  uriOf?: (file: string) => string | undefined,
): Lsp.DiagnosticRelatedInformation[] {
  if (elsewhere === undefined) return [{ location: { uri: document.uri, range: document.range(span) }, message }]
  const uri = uriOf?.(elsewhere.file)
  if (uri === undefined) return []
  return [{ location: { uri, range: document.beside(uri, elsewhere.text).range(span) }, message }]
}

export function toTextEdit(document: TextDocument, { span, text }: Edit): Lsp.TextEdit {
  return { range: document.range(span), newText: text }
}

export function toWorkspaceEdit(files: readonly PlacedEdits[], client: Client): Lsp.WorkspaceEdit {
  if (!client.versionedEdits) {
    const changes = files.map(({ source: { document }, edits }) => {
      return [document.uri, edits.map((edit) => toTextEdit(document, edit))] as const
    })
    return { changes: Object.fromEntries(changes) }
  }
  const documentChanges = files.map(({ source: { document, isOpen }, edits }) => ({
    textDocument: { uri: document.uri, version: isOpen ? document.version : null },
    edits: edits.map((edit): Lsp.TextEdit | Lsp.SnippetTextEdit => {
      if (edit.snippet === undefined || !client.snippetEdits) return toTextEdit(document, edit)
      return { range: document.range(edit.span), snippet: { kind: "snippet", value: edit.snippet } }
    }),
  }))
  return { documentChanges }
}

// ------------------------------------------------------------------------------------------------------ completion

const completionKinds: Readonly<Record<CompletionKind, Lsp.CompletionItemKind>> = {
  keyword: 14,
  property: 10,
  field: 5,
  type: 25,
  schema: 22,
  root: 9,
  agent: 3,
  ask: 3,
  wait: 3,
  value: 6,
  variable: 6,
  model: 7,
  provider: 7,
  server: 7,
  workflow: 3,
  tool: 3,
  resource: 17,
  prompt: 15,
  case: 20,
  constant: 21,
  function: 3,
}

export function toCompletionList(
  document: TextDocument,
  found: Completions | undefined,
  client: Client,
): Lsp.CompletionList {
  const items = found?.items.map((item, index) => toCompletionItem(document, item, found.span, index, client))
  return { isIncomplete: false, items: items ?? [] }
}

function toCompletionItem(
  document: TextDocument,
  { label, kind, detail, doc, insert, snippet, edits, filter }: Completion,
  span: Completions["span"],
  index: number,
  client: Client,
): Lsp.CompletionItem {
  const asSnippet = client.snippets ? snippet : undefined
  return {
    label: visibleText(label),
    kind: completionKinds[kind],
    // Editors sort by this: the order of the list is the order of likelihood.
    sortText: String(index).padStart(5, "0"),
    insertTextFormat: asSnippet === undefined ? 1 : 2,
    textEdit: { range: document.range(span), newText: asSnippet ?? insert },
    ...(detail === undefined ? {} : { detail: visibleText(detail) }),
    ...(doc === undefined ? {} : { documentation: toMarkup(docText(doc, client), client) }),
    ...(filter === undefined ? {} : { filterText: filter }),
    ...(edits === undefined ? {} : { additionalTextEdits: edits.map((edit) => toTextEdit(document, edit)) }),
  }
}

// ----------------------------------------------------------------------------------------------------------- hover

export function toSignatureHelp({ forms, active, text }: SignatureHelp, client: Client): Lsp.SignatureHelp {
  const signatures = forms.map(({ label, parameters, at }): Lsp.SignatureInformation => {
    return {
      label,
      documentation: toMarkup(text, client),
      parameters: parameters.map(({ start, end }) => {
        return { label: client.parameterOffsets ? [start, end] : label.slice(start, end) }
      }),
      // Beyond the last one, none is shown.
      activeParameter: at ?? parameters.length,
    }
  })
  return { signatures, activeSignature: active, activeParameter: signatures[active]?.activeParameter ?? 0 }
}

function toMarkup(text: string, client: Client): Lsp.MarkupContent {
  return { kind: client.markdown ? "markdown" : "plaintext", value: text }
}

/** An author's comment may be Markdown; it loads no images. */
function docText(doc: string, client: Client): string {
  return client.markdown ? visibleLines(doc).replaceAll("![", "!\\[") : visibleLines(doc)
}

export function toHover(document: TextDocument, { span, code, doc, text }: Hover, client: Client): Lsp.Hover {
  const visible = code === undefined ? undefined : visibleLines(code)
  const shown = visible !== undefined && client.markdown ? `\`\`\`wire\n${visible}\n\`\`\`` : visible
  const about = doc === undefined ? undefined : docText(doc, client)
  const value = [shown, about, text].filter((part) => part !== undefined).join("\n\n")
  return { contents: toMarkup(value, client), range: document.range(span) }
}

// --------------------------------------------------------------------------------------------------------- symbols

const symbolKinds: Readonly<Record<SymbolKind, Lsp.SymbolKind>> = {
  test: 6,
  input: 11,
  secrets: 20,
  schema: 23,
  provider: 5,
  model: 5,
  server: 5,
  tool: 12,
  resource: 1,
  prompt: 15,
  imports: 2,
  workflow: 12,
  dynamic: 3,
  value: 13,
  agent: 12,
  ask: 12,
  wait: 12,
  limits: 14,
  chat: 11,
  release: 11,
  score: 12,
  trigger: 24,
  function: 12,
  output: 11,
  field: 8,
  case: 22,
}

export function toSymbol(document: TextDocument, symbol: DocumentSymbol): Lsp.DocumentSymbol {
  const { name, kind, detail, span, selection, children } = symbol
  return {
    name: visibleText(name),
    kind: symbolKinds[kind],
    range: document.range(span),
    selectionRange: document.range(selection),
    children: children.map((child) => toSymbol(document, child)),
    ...(detail === undefined ? {} : { detail: visibleText(detail) }),
  }
}

/** For clients that know no trees: every symbol with the name of the one around it. */
export function toFlatSymbols(
  document: TextDocument,
  symbols: readonly DocumentSymbol[],
  container?: string,
): Lsp.SymbolInformation[] {
  return symbols.flatMap(({ name, kind, span, children }) => {
    const location = { uri: document.uri, range: document.range(span) }
    const own = { name: visibleText(name), kind: symbolKinds[kind], location }
    const around = container === undefined ? {} : { containerName: visibleText(container) }
    return [{ ...own, ...around }, ...toFlatSymbols(document, children, name)]
  })
}

// --------------------------------------------------------------------------------------------------------- folding

export function toFoldingRanges(document: TextDocument, folds: readonly Fold[], client: Client): Lsp.FoldingRange[] {
  return folds.flatMap((fold): Lsp.FoldingRange[] => {
    const { start, end } = document.range(fold)
    const kind = fold.kind === "comment" ? { kind: "comment" as const } : {}
    if (!client.wholeLinesFold) {
      return [
        {
          startLine: start.line,
          startCharacter: start.character,
          endLine: end.line,
          endCharacter: end.character,
          ...kind,
        },
      ]
    }
    // The line of the closing bracket stays in sight.
    const endLine = fold.kind === "comment" ? end.line : end.line - 1
    return endLine > start.line ? [{ startLine: start.line, endLine, ...kind }] : []
  })
}

// ---------------------------------------------------------------------------------------------------------- tokens

export const tokenLegend: Lsp.SemanticTokensLegend = {
  tokenTypes: [...tokenTypes],
  tokenModifiers: [...tokenModifiers],
}

/** Five numbers a token: lines and columns since the one before, length, kind, modifiers. */
export function toSemanticTokens(
  document: TextDocument,
  tokens: readonly SemanticToken[],
  client: Client,
): Lsp.SemanticTokens {
  const data: number[] = []
  let line = 0
  let character = 0
  for (const token of tokens) {
    const type = tokenTypes.indexOf(token.type)
    let modifiers = 0
    for (const modifier of token.modifiers) modifiers |= 1 << tokenModifiers.indexOf(modifier)
    for (const { start, end } of client.tokensOverLines ? [token] : pieces(document.text, token)) {
      const at = document.position(start)
      const sameLine = at.line === line
      data.push(at.line - line, sameLine ? at.character - character : at.character, document.length(start, end))
      data.push(type, modifiers)
      line = at.line
      character = at.character
    }
  }
  return { data }
}

/** The parts of a token that are on different lines, without the blanks that they begin with. */
function pieces(text: string, token: SemanticToken): { readonly start: number; readonly end: number }[] {
  const written = text.slice(token.start, token.end)
  if (!/[\r\n]/.test(written)) return [token]
  return [...written.matchAll(/[^\r\n \t][^\r\n]*/g)].map((match) => {
    const start = token.start + match.index
    return { start, end: start + match[0].length }
  })
}

// --------------------------------------------------------------------------------------------------------- actions

export function toCodeAction(
  document: TextDocument,
  action: CodeAction,
  client: Client,
  uriOf: (file: string) => string | undefined,
): Lsp.CodeAction {
  return {
    title: visibleText(action.title),
    kind: "quickfix",
    isPreferred: action.preferred,
    diagnostics: [toDiagnostic(document, action.diagnostic, undefined, uriOf)],
    edit: toWorkspaceEdit([{ source: { document, isOpen: true }, edits: action.edits }], client),
  }
}
