import { at } from "./protocol.ts"
import type { PositionEncoding } from "./text-document.ts"

/** What the client says that it can do, as far as it changes what it is sent. */
export interface Client {
  readonly encoding: PositionEncoding
  /** It asks for diagnostics: then they are not pushed, or it would show them twice. */
  readonly pullsDiagnostics: boolean
  /** It asks for diagnostics again when it is told to. */
  readonly refreshesDiagnostics: boolean
  /** It shows a diagnostic's code as a link. */
  readonly linkedCodes: boolean
  readonly snippets: boolean
  readonly markdown: boolean
  readonly wholeLinesFold: boolean
  readonly tokensOverLines: boolean
  readonly versionedEdits: boolean
  /** It takes edits that say where the cursor goes. */
  readonly snippetEdits: boolean
  readonly nestedSymbols: boolean
  readonly literalActions: boolean
  /** It takes the places of parameters as offsets in the label. */
  readonly parameterOffsets: boolean
  /** The folders of the workspace, as addresses. */
  readonly folders: readonly string[]
}

/** Reads the parameters of `initialize`; missing or malformed ones count as absent. */
export function clientOf(params: unknown): Client {
  const capabilities = at(params, "capabilities")
  const document = (...path: readonly string[]): unknown => at(capabilities, "textDocument", ...path)
  const formats = [document("hover", "contentFormat"), document("completion", "completionItem", "documentationFormat")]
  return {
    encoding: encodingOf(at(capabilities, "general", "positionEncodings")),
    pullsDiagnostics: typeof document("diagnostic") === "object" && document("diagnostic") !== null,
    refreshesDiagnostics: at(capabilities, "workspace", "diagnostics", "refreshSupport") === true,
    linkedCodes: ["publishDiagnostics", "diagnostic"].every((by) => document(by, "codeDescriptionSupport") !== false),
    snippets: document("completion", "completionItem", "snippetSupport") === true,
    markdown: formats.some((list) => Array.isArray(list) && list.includes("markdown")),
    wholeLinesFold: document("foldingRange", "lineFoldingOnly") === true,
    tokensOverLines: document("semanticTokens", "multilineTokenSupport") === true,
    snippetEdits: at(capabilities, "workspace", "workspaceEdit", "snippetEditSupport") === true,
    versionedEdits: at(capabilities, "workspace", "workspaceEdit", "documentChanges") === true,
    nestedSymbols: document("documentSymbol", "hierarchicalDocumentSymbolSupport") === true,
    literalActions: typeof document("codeAction", "codeActionLiteralSupport") === "object",
    parameterOffsets:
      document("signatureHelp", "signatureInformation", "parameterInformation", "labelOffsetSupport") === true,
    folders: foldersOf(params),
  }
}

function foldersOf(params: unknown): readonly string[] {
  const listed = at(params, "workspaceFolders")
  const uris = Array.isArray(listed) ? listed.map((folder) => at(folder, "uri")) : [at(params, "rootUri")]
  return uris.filter((uri) => typeof uri === "string")
}

/** The client lists what it likes best first; UTF-16 is what every client knows. */
function encodingOf(offered: unknown): PositionEncoding {
  if (!Array.isArray(offered)) return "utf-16"
  const known = offered.find((one): one is PositionEncoding => one === "utf-16" || one === "utf-8" || one === "utf-32")
  return known ?? "utf-16"
}
