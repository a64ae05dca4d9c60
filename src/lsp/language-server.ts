import type * as Lsp from "vscode-languageserver-protocol"
import { codeActions } from "../editor/code-actions.ts"
import { complete } from "../editor/complete.ts"
import { definition } from "../editor/definition.ts"
import { folding } from "../editor/folding.ts"
import { hover } from "../editor/hover.ts"
import { semanticTokens } from "../editor/semantic-tokens.ts"
import { symbols } from "../editor/symbols.ts"
import { completeTest, defineTest, hoverTest } from "../editor/test-file.ts"
import { compile } from "../compile.ts"
import { formatText } from "../syntax/format.ts"
import {
  toCodeAction,
  toCompletionList,
  toDiagnostic,
  toFlatSymbols,
  toFoldingRanges,
  toHover,
  tokenLegend,
  toSemanticTokens,
  toSymbol,
  toTextEdit,
  toWorkspaceEdit,
} from "./answers.ts"
import type { Client } from "./client.ts"
import { clientOf } from "./client.ts"
import type { Handler } from "./connection.ts"
import { Connection } from "./connection.ts"
import { differingPiece } from "./differing-piece.ts"
import type { JsonObject } from "./protocol.ts"
import { at, integerIn, objectIn, positionIn, rangeIn, stringIn, uriIn } from "./protocol.ts"
import { RpcError } from "./rpc-error.ts"
import { inTest, prepareRenameAcross, referencesAcross, renameAcross } from "./across-tests.ts"
import type { Tested, TestedDocument } from "./text-document.ts"
import { TextDocument } from "./text-document.ts"
import { sourceBytes } from "../base/limits.ts"

export interface ServerOptions {
  readonly version: string
  readonly write: (bytes: Buffer) => void
  /** One line for the log of the editor. */
  readonly log: (line: string) => void
  /** The client asked the server to end; `clean` when it announced it, as the protocol wants. */
  readonly exit: (clean: boolean) => void
  /** The text of a file that is not open; null where it cannot be read. */
  readonly readFile?: (uri: string) => string | null
}

/** The language over the Language Server Protocol: one client, its open documents. Bytes in, bytes out. */
export class LanguageServer implements Handler {
  readonly #options: ServerOptions
  readonly #connection: Connection
  readonly #documents = new Map<string, TextDocument>()
  /** Documents whose diagnostics the client has not been sent yet. */
  readonly #unpublished = new Set<string>()
  #client: Client | undefined
  #isShutDown = false

  constructor(options: ServerOptions) {
    this.#options = options
    this.#connection = new Connection(options.write, this)
  }

  receive(chunk: Buffer): void {
    this.#connection.receive(chunk)
  }

  /** The client sends nothing more. */
  end(): void {
    this.#connection.finish()
    this.#options.exit(this.#isShutDown)
  }

  log(line: string): void {
    this.#options.log(line)
  }

  // ------------------------------------------------------------------------------------------------------ lifecycle

  request(method: string, params: unknown): unknown {
    if (method === "initialize") return this.#initialize(params)
    const client = this.#client
    if (client === undefined) throw new RpcError("serverNotInitialized", "`initialize` comes first")
    if (this.#isShutDown) throw new RpcError("invalidRequest", "The server is shut down")
    if (method === "shutdown") {
      this.#isShutDown = true
      return null
    }
    const answer = Object.hasOwn(answers, method) ? answers[method] : undefined
    if (answer === undefined) throw new RpcError("methodNotFound", `There is no method ${method}`)
    const read = objectIn(params, "params")
    const uri = uriIn(read)
    const document = this.#documents.get(uri)
    if (document === undefined) throw new RpcError("invalidParams", `${uri} is not open`)
    return answer(document, read, client, [...this.#documents.values()])
  }

  notification(method: string, params: unknown): void {
    if (method === "exit") {
      this.#connection.close()
      this.#options.exit(this.#isShutDown)
      return
    }
    if (this.#client === undefined || this.#isShutDown) return
    switch (method) {
      case "textDocument/didOpen":
        return this.#open(objectIn(params, "params"))
      case "textDocument/didChange":
        return this.#change(objectIn(params, "params"))
      case "textDocument/didClose":
        return this.#close(objectIn(params, "params"))
      default:
        // `initialized`, `didSave`, `$/setTrace` and other notifications need no work.
        return undefined
    }
  }

  #initialize(params: unknown): Lsp.InitializeResult {
    if (this.#client !== undefined) throw new RpcError("invalidRequest", "`initialize` comes once")
    const client = clientOf(params)
    this.#client = client
    return {
      serverInfo: { name: "wire", version: this.#options.version },
      capabilities: {
        positionEncoding: client.encoding,
        textDocumentSync: { openClose: true, change: 2 },
        completionProvider: { triggerCharacters: [".", "#", "{", "[", '"'] },
        hoverProvider: true,
        definitionProvider: true,
        referencesProvider: true,
        documentHighlightProvider: true,
        renameProvider: { prepareProvider: true },
        documentSymbolProvider: true,
        foldingRangeProvider: true,
        semanticTokensProvider: { legend: tokenLegend, full: true },
        codeActionProvider: { codeActionKinds: ["quickfix"] },
        documentFormattingProvider: true,
        diagnosticProvider: { identifier: "wire", interFileDependencies: true, workspaceDiagnostics: false },
      },
    }
  }

  // ------------------------------------------------------------------------------------------------------ documents

  #open(params: JsonObject): void {
    const item = objectIn(params["textDocument"], "textDocument")
    const uri = stringIn(item, "uri")
    const version = integerIn(item, "version")
    const encoding = this.#client?.encoding ?? "utf-16"
    const tested: Tested = (test, path) => this.#tested(test, path)
    this.#set(new TextDocument(uri, stringIn(item, "text"), version, encoding, tested))
  }

  #change(params: JsonObject): void {
    const uri = uriIn(params)
    let document = this.#documents.get(uri)
    if (document === undefined) throw new RpcError("invalidParams", `${uri} is not open`)
    const version = integerIn(objectIn(params["textDocument"], "textDocument"), "version")
    const changes = params["contentChanges"]
    if (!Array.isArray(changes)) throw new RpcError("invalidParams", "contentChanges is not an array")
    for (const one of changes) {
      const change = objectIn(one, "change")
      const range = change["range"] === undefined ? undefined : rangeIn(change["range"])
      document = document.changed(range, stringIn(change, "text"), version)
    }
    this.#set(document)
  }

  #set(document: TextDocument): void {
    this.#documents.set(document.uri, document)
    this.#unpublished.add(document.uri)
    if (document.isTest) return
    // The problems of tests depend on their workflow.
    for (const [uri, other] of this.#documents) {
      if (!other.isTest) continue
      this.#documents.set(uri, other.anew())
      this.#unpublished.add(uri)
    }
  }

  /** The workflow of a test file: as the editor has it, else as it is stored. */
  #tested(test: string, path: string): TestedDocument | undefined {
    if (!URL.canParse(path, test)) return undefined
    const { href: uri, host } = new URL(path, test)
    const open = this.#documents.get(uri)
    // A file from elsewhere may name a machine of its author, which the system would log in to.
    const isHere = host === URL.parse(test)?.host
    const text = open?.text ?? (isHere ? this.#options.readFile?.(uri) : null) ?? null
    if (text === null || text.length > sourceBytes) return undefined
    return { uri, text, program: open?.compiled.program ?? compile(text).program }
  }

  #close(params: JsonObject): void {
    const uri = uriIn(params)
    this.#documents.delete(uri)
    this.#unpublished.delete(uri)
    if (this.#client?.pullsDiagnostics === false) this.#publish(uri, undefined)
  }

  /** Pushed when there is nothing else to do: of many changes in a row only the last one counts. */
  idle(): void {
    const uris = [...this.#unpublished]
    this.#unpublished.clear()
    if (this.#client?.pullsDiagnostics !== false) return
    for (const uri of uris) this.#publish(uri, this.#documents.get(uri))
  }

  #publish(uri: string, document: TextDocument | undefined): void {
    const diagnostics = document === undefined ? [] : diagnosticsOf(document)
    const version = document === undefined ? {} : { version: document.version }
    this.#connection.notify("textDocument/publishDiagnostics", { uri, ...version, diagnostics })
  }
}

function diagnosticsOf(document: TextDocument): Lsp.Diagnostic[] {
  if (document.isTooLarge) {
    const message = `The file is too large: a workflow has at most ${sourceBytes / 1024 / 1024} MiB`
    return [{ range: document.range({ start: 0, end: 0 }), severity: 1, source: "wire", message }]
  }
  return document.compiled.diagnostics.map((one) => toDiagnostic(document, one))
}

// -------------------------------------------------------------------------------------------------------- answers

type Answer = (document: TextDocument, params: JsonObject, client: Client, open: readonly TextDocument[]) => unknown

function offsetIn(document: TextDocument, params: JsonObject): number {
  return document.offset(positionIn(params["position"]))
}

const answers: Readonly<Record<string, Answer>> = {
  "textDocument/completion": (document, params, client): Lsp.CompletionList => {
    const { program, tested } = document.compiled
    const offset = offsetIn(document, params)
    const own = document.isTest ? completeTest(program, tested?.program, offset) : undefined
    const found = own ?? complete(program, offset)
    return toCompletionList(document, found, client)
  },

  "textDocument/hover": (document, params, client): Lsp.Hover | null => {
    const { program, tested } = document.compiled
    const offset = offsetIn(document, params)
    const own = tested === undefined ? undefined : hoverTest(program, tested.program, offset)
    const found = own ?? (inTest(document, offset) ? undefined : hover(program, offset))
    return found === undefined ? null : toHover(document, found, client)
  },

  "textDocument/definition": (document, params): Lsp.Location[] => {
    const { program, tested } = document.compiled
    const offset = offsetIn(document, params)
    if (inTest(document, offset)) {
      const target = tested === undefined ? undefined : defineTest(program, tested.program, offset)
      if (tested === undefined || target === undefined) return []
      return [{ uri: tested.uri, range: document.beside(tested.uri, tested.text).range(target.name) }]
    }
    const found = definition(program, offset)
    return (found?.targets ?? []).map(({ name }) => ({ uri: document.uri, range: document.range(name) }))
  },

  "textDocument/references": (document, params, _client, open): Lsp.Location[] => {
    const withDeclaration = at(params, "context", "includeDeclaration") !== false
    return referencesAcross(document, offsetIn(document, params), open)
      .filter(({ declares }) => withDeclaration || !declares)
      .map((one) => ({ uri: one.source.document.uri, range: one.source.document.range(one) }))
  },

  "textDocument/documentHighlight": (document, params, _client, open): Lsp.DocumentHighlight[] => {
    return referencesAcross(document, offsetIn(document, params), open)
      .filter(({ source }) => source.document === document)
      .map((one) => ({ range: document.range(one), kind: one.declares ? 3 : 2 }))
  },

  "textDocument/prepareRename": (document, params, _client, open): Lsp.PrepareRenameResult => {
    const found = prepareRenameAcross(document, offsetIn(document, params), open)
    if ("problem" in found) throw new RpcError("requestFailed", found.problem)
    return { range: document.range(found.span), placeholder: found.name }
  },

  "textDocument/rename": (document, params, client, open): Lsp.WorkspaceEdit => {
    const found = renameAcross(document, offsetIn(document, params), stringIn(params, "newName"), open)
    if ("problem" in found) throw new RpcError("requestFailed", found.problem)
    return toWorkspaceEdit(found, client)
  },

  "textDocument/documentSymbol": (document, _params, client): Lsp.DocumentSymbol[] | Lsp.SymbolInformation[] => {
    const found = symbols(document.compiled.program)
    return client.nestedSymbols ? found.map((one) => toSymbol(document, one)) : toFlatSymbols(document, found)
  },

  "textDocument/foldingRange": (document, _params, client): Lsp.FoldingRange[] => {
    return toFoldingRanges(document, folding(document.compiled.program), client)
  },

  "textDocument/semanticTokens/full": (document, _params, client): Lsp.SemanticTokens => {
    return toSemanticTokens(document, semanticTokens(document.compiled.program), client)
  },

  "textDocument/codeAction": (document, params, client): Lsp.CodeAction[] => {
    const span = document.span(rangeIn(params["range"]))
    const only = at(params, "context", "only")
    const wanted = !Array.isArray(only) || only.some((kind) => kind === "" || kind === "quickfix")
    if (!wanted || !client.literalActions) return []
    const { program, diagnostics } = document.compiled
    const found = codeActions(program, diagnostics, span)
    return found.map((action) => toCodeAction(document, action, client))
  },

  "textDocument/formatting": (document): Lsp.TextEdit[] | null => {
    if (document.isTooLarge) return null
    const result = formatText(document.text)
    // Broken text is left alone; the diagnostics say what is wrong with it.
    if ("diagnostics" in result) return null
    const edit = differingPiece(document.text, result.formatted)
    return edit === undefined ? [] : [toTextEdit(document, edit)]
  },

  "textDocument/diagnostic": (document, params): Lsp.DocumentDiagnosticReport => {
    const resultId = String(document.id)
    if (params["previousResultId"] === resultId) return { kind: "unchanged", resultId }
    return { kind: "full", resultId, items: diagnosticsOf(document) }
  },
}
