import type * as Lsp from "vscode-languageserver-protocol"
import { codeActions } from "../editor/code-actions.ts"
import { complete } from "../editor/complete.ts"
import { definition } from "../editor/definition.ts"
import { inlayHints } from "../editor/inlay-hints.ts"
import { folding } from "../editor/folding.ts"
import { hover } from "../editor/hover.ts"
import { semanticTokens } from "../editor/semantic-tokens.ts"
import { signatureHelp } from "../editor/signature-help.ts"
import { symbols } from "../editor/symbols.ts"
import { completeTest, defineTest, hoverTest } from "../editor/test-file.ts"
import { exportAt } from "../editor/code-places.ts"
import { isForeign } from "../check/file-space.ts"
import { isCodePath, type CheckedCode, type CodeFiles } from "../source/code-files.ts"
import { compile, Files, type Compiled, type FileTexts } from "../compile.ts"
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
  toSignatureHelp,
  toSymbol,
  toTextEdit,
  toWorkspaceEdit,
} from "./answers.ts"
import { clientOf, type Client } from "./client.ts"
import { testLenses } from "./test-lenses.ts"
import { Connection, type Handler } from "./connection.ts"
import { differingPiece } from "./differing-piece.ts"
import { at, integerIn, objectIn, positionIn, rangeIn, stringIn, uriIn, type JsonObject } from "./protocol.ts"
import { RpcError } from "./rpc-error.ts"
import { FolderFiles, referencesInFiles, renamableInFiles, renamedInFiles, type FilesAround } from "./across-files.ts"
import { inTest, prepareRenameAcross, referencesAcross, renameAcross, type Others } from "./across-tests.ts"
import { TextDocument, type Around, type TestedDocument } from "./text-document.ts"
import { compileBeside } from "../compiler/folder-texts.ts"
import { sourceBytes } from "../base/limits.ts"

export interface ServerOptions {
  readonly version: string
  /** The address of the page that explains a code. */
  readonly codePage?: (code: string) => string | undefined
  readonly write: (bytes: Buffer) => void
  /** One line for the log of the editor. */
  readonly log: (line: string) => void
  /** The client asked the server to end; `clean` when it announced it, as the protocol wants. */
  readonly exit: (clean: boolean) => void
  /** The text of a file that is not open; null where it cannot be read. */
  readonly readFile?: (uri: string) => string | null
  /** The test files in a folder; with `below`, also in the folders below it. */
  readonly testFiles?: (folder: string, below: boolean) => readonly string[]
  /**
   * The files that a file may use; null for one that stands alone. `open` gives the text of a document that is open; `workspace` has
   * the folders that the editor has open.
   */
  readonly folderOf?: (
    uri: string,
    open: (uri: string) => string | undefined,
    workspace: readonly string[],
  ) => SourceFolder | null
  /** Loads a code file in a sandbox. Without it, what code files hold is not checked. */
  readonly loadCode?: (code: CodeFiles) => Promise<CheckedCode>
}

/** A folder whose files use each other. */
export interface SourceFolder {
  readonly root: string
  /** The path of the file in it. */
  readonly file: string
  readonly texts: FileTexts
  uriOf(file: string): string
  /** Whether a file is stored in it: no other file is read for one of its files. */
  holds(uri: string): boolean
  /** The paths of all files in it, open or not. */
  paths(): readonly string[]
}

/** The language over the Language Server Protocol: one client, its open documents. Bytes in, bytes out. */
export class LanguageServer implements Handler {
  readonly #options: ServerOptions
  readonly #connection: Connection
  readonly #documents = new Map<string, TextDocument>()
  /** Documents whose diagnostics the client has not been sent yet. */
  readonly #unpublished = new Set<string>()
  /** By root: the files that were looked at. They are looked at again after a file was opened, closed or saved. */
  readonly #folders = new Map<string, Files>()
  /** What loading code files found, by their texts; undefined while they are loaded. */
  readonly #code = new Map<string, CheckedCode | undefined>()
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
    const document = this.#documents.get(uri) ?? this.#codeOnDisk(uri)
    if (document === undefined) throw new RpcError("invalidParams", `${uri} is not open`)
    if (isCodePath(uri)) return this.#answerCode(method, document, read)
    return answer(document, read, client, {
      filesAround: () => this.#filesAround(document),
      open: [...this.#documents.values()],
      closedTests: (workflow, name) => this.#closedTests(workflow, name),
      codePage: this.#codePage(),
      uriOf: (file) => this.#folderOf(uri)?.uriOf(file),
    })
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
      case "textDocument/didSave":
      case "workspace/didChangeWatchedFiles":
        return this.#lookAgain()
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
        signatureHelpProvider: { triggerCharacters: ["(", ","] },
        definitionProvider: true,
        referencesProvider: true,
        documentHighlightProvider: true,
        renameProvider: { prepareProvider: true },
        documentSymbolProvider: true,
        foldingRangeProvider: true,
        semanticTokensProvider: { legend: tokenLegend, full: true },
        codeActionProvider: { codeActionKinds: ["quickfix"] },
        documentFormattingProvider: true,
        inlayHintProvider: true,
        codeLensProvider: {},
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
    this.#folders.clear()
    this.#set(new TextDocument(uri, stringIn(item, "text"), version, encoding, this.#around))
  }

  /** With the files around it, as the editor has them, else as they are stored. */
  #compile(uri: string, text: string): Compiled {
    const folder = this.#folderOf(uri)
    if (folder === null) return compile(text)
    let files = this.#folders.get(folder.root)
    if (files === undefined) {
      const checked = (code: CodeFiles): CheckedCode | undefined => this.#checkedCode(code)
      files = new Files(folder.texts, undefined, undefined, { allowed: true, checked })
      this.#folders.set(folder.root, files)
    }
    return compileBeside(files, folder.texts, folder.file, text)
  }

  /** Tells what loading a code file found. Diagnostics are made again when it has found more. */
  #checkedCode(code: CodeFiles): CheckedCode | undefined {
    const { loadCode } = this.#options
    const key = JSON.stringify(code)
    if (loadCode === undefined || this.#code.has(key)) return this.#code.get(key)
    if (this.#code.size >= 100) this.#code.clear()
    this.#code.set(key, undefined)
    loadCode(code).then(
      (found) => {
        this.#code.set(key, found)
        this.#lookAgain()
        this.idle()
        if (this.#client?.refreshesDiagnostics === true) this.#connection.ask("workspace/diagnostic/refresh")
      },
      (error: unknown) => this.log(String(error)),
    )
    return undefined
  }

  #folderOf(uri: string): SourceFolder | null {
    return this.#options.folderOf?.(uri, (open) => this.#openAt(open)?.text, this.#client?.folders ?? []) ?? null
  }

  /** For questions that reach other files; undefined for a document that stands alone, and for a test. */
  #filesAround(document: TextDocument): FilesAround | undefined {
    const folder = document.isTest || document.isTooLarge ? null : this.#folderOf(document.uri)
    if (folder === null) return undefined
    const { program } = this.#compile(document.uri, document.text)
    const files = this.#folders.get(folder.root)
    if (files === undefined) return undefined
    return {
      files: new FolderFiles(files, folder.texts, folder.paths()),
      program,
      source: (file, text) => {
        const uri = folder.uriOf(file)
        const open = this.#openAt(uri)
        return { document: open ?? document.beside(uri, text), isOpen: open !== undefined }
      },
    }
  }

  /** Files may have changed on disk. */
  #lookAgain(): void {
    this.#folders.clear()
    for (const [uri, document] of this.#documents) this.#renew(uri, document)
  }

  #renew(uri: string, document: TextDocument): void {
    this.#documents.set(uri, document.anew())
    this.#unpublished.add(uri)
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
    const folder = this.#folderOf(document.uri)
    const files = folder === null ? undefined : this.#folders.get(folder.root)
    if (folder !== null) files?.changed(folder.file)
    // The problems of tests depend on their workflow, and those of workflows on the files that they use.
    for (const [uri, other] of this.#documents) {
      if (other === document) continue
      const uses = folder !== null && mayUse(other.text)
      if (other.isTest || uses) this.#renew(uri, other)
    }
  }

  readonly #around: Around = {
    tested: (test, path) => this.#tested(test, path),
    placeOf: (uri) => this.#folderOf(uri),
    compile: (uri, text) => this.#compile(uri, text),
  }

  /** The workflow of a test file: as the editor has it, else as it is stored. */
  #tested(test: string, path: string): TestedDocument | undefined {
    if (!URL.canParse(path, test)) return undefined
    const { href: uri, host } = new URL(path, test)
    const open = this.#openAt(uri)
    // A file from elsewhere may name a machine of its author, which the system would log in to.
    const isHere = host === URL.parse(test)?.host && this.#folderOf(test)?.holds(uri) !== false
    const text = open?.text ?? (isHere ? this.#options.readFile?.(uri) : null) ?? null
    if (text === null || text.length > sourceBytes) return undefined
    return { uri: open?.uri ?? uri, text, program: open?.compiled.program ?? this.#compile(uri, text).program }
  }

  /** Editors and Node escape different characters of a path. */
  #openAt(uri: string): TextDocument | undefined {
    return (
      this.#documents.get(uri) ?? [...this.#documents.values()].find((one) => unescaped(one.uri) === unescaped(uri))
    )
  }

  #closedTests(workflow: string, name: string): readonly TextDocument[] {
    const { testFiles, readFile } = this.#options
    if (testFiles === undefined || readFile === undefined || !URL.canParse("./", workflow)) return []
    const folders = this.#client?.folders ?? []
    const paths = [...folders.flatMap((one) => testFiles(one, true)), ...testFiles(new URL("./", workflow).href, false)]
    return [...new Set(paths)].flatMap((uri) => {
      if (this.#openAt(uri) !== undefined) return []
      const text = readFile(uri)
      if (text?.includes(name) !== true) return []
      const document = new TextDocument(uri, text, 0, this.#client?.encoding ?? "utf-16", this.#around)
      const tested = document.compiled.tested?.uri
      return tested !== undefined && unescaped(tested) === unescaped(workflow) ? [document] : []
    })
  }

  /** An editor need not open code files here: another server has them. */
  #codeOnDisk(uri: string): TextDocument | undefined {
    const text = isCodePath(uri) ? this.#options.readFile?.(uri) : undefined
    if (text === undefined || text === null) return undefined
    return new TextDocument(uri, text, 0, this.#client?.encoding ?? "utf-16", this.#around)
  }

  /** Of a code file only the ways to the declarations that use an export are known. */
  #answerCode(method: string, document: TextDocument, params: JsonObject): Lsp.Location[] | null {
    const isWay = method === "textDocument/definition" || method === "textDocument/references"
    const folder = isWay ? this.#folderOf(document.uri) : null
    const name = folder === null ? undefined : exportAt(document.text, offsetIn(document, params))
    if (folder === null || name === undefined) return isWay ? [] : null
    const files = new Files(folder.texts)
    return folder.paths().flatMap((path) => {
      if (!files.named(path).has(folder.file)) return []
      const { functions = [], tree } = files.checked(path)?.program ?? {}
      return [...functions].flatMap(([own, { code, declaration, name: at }]) => {
        const isHere = code?.files.entry === folder.file && declaration.file !== undefined && !isForeign(at)
        if (!isHere || (code.name !== name && name !== "default") || tree === undefined || own.includes("#")) return []
        const uri = folder.uriOf(path)
        const text = this.#openAt(uri) ?? document.beside(uri, tree.text)
        return [{ uri, range: text.range(at) }]
      })
    })
  }

  /** Undefined for a client that shows no links. */
  #codePage(): ServerOptions["codePage"] {
    return this.#client?.linkedCodes === true ? this.#options.codePage : undefined
  }

  #close(params: JsonObject): void {
    const uri = uriIn(params)
    this.#documents.delete(uri)
    this.#unpublished.delete(uri)
    this.#lookAgain()
    if (this.#client?.pullsDiagnostics === false) this.#publish(uri, undefined)
  }

  /** Pushed when there is nothing else to do: of many changes in a row only the last one counts. */
  idle(): void {
    const uris = [...this.#unpublished]
    this.#unpublished.clear()
    if (this.#client?.pullsDiagnostics !== false) return
    for (const uri of uris) this.#publish(uri, this.#documents.get(uri))
  }

  #diagnosticsOf(uri: string, document: TextDocument): Lsp.Diagnostic[] {
    return diagnosticsOf(document, this.#codePage(), (file) => this.#folderOf(uri)?.uriOf(file))
  }

  #publish(uri: string, document: TextDocument | undefined): void {
    const diagnostics = document === undefined ? [] : this.#diagnosticsOf(uri, document)
    const version = document === undefined ? {} : { version: document.version }
    this.#connection.notify("textDocument/publishDiagnostics", { uri, ...version, diagnostics })
  }
}

function unescaped(uri: string): string {
  try {
    return decodeURIComponent(uri)
  } catch {
    return uri
  }
}

function diagnosticsOf(
  document: TextDocument,
  codePage: ServerOptions["codePage"],
  uriOf: (file: string) => string | undefined,
): Lsp.Diagnostic[] {
  if (isCodePath(document.uri)) return []
  if (document.isTooLarge) {
    const message = `The file is too large: a workflow has at most ${sourceBytes / 1024 / 1024} MiB`
    return [{ range: document.range({ start: 0, end: 0 }), severity: 1, source: "wire", message }]
  }
  return document.compiled.diagnostics.map((one) => toDiagnostic(document, one, codePage, uriOf))
}

// -------------------------------------------------------------------------------------------------------- answers

interface AnswerParts extends Others {
  readonly codePage: ServerOptions["codePage"]
  readonly filesAround: () => FilesAround | undefined
  /** The URI of another file by its path from the root. */
  readonly uriOf: (file: string) => string | undefined
}

type Answer = (document: TextDocument, params: JsonObject, client: Client, around: AnswerParts) => unknown

/** Whether a text may name another file. */
function mayUse(text: string): boolean {
  return /\.(?:wire|js|ts)"/.test(text)
}

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

  "textDocument/signatureHelp": (document, params, client): Lsp.SignatureHelp | null => {
    const found = signatureHelp(document.compiled.program, offsetIn(document, params))
    return found === undefined ? null : toSignatureHelp(found, client)
  },

  "textDocument/definition": (document, params, _client, { uriOf }): Lsp.Location[] => {
    const { program, tested } = document.compiled
    const offset = offsetIn(document, params)
    if (inTest(document, offset)) {
      const target = tested === undefined ? undefined : defineTest(program, tested.program, offset)
      if (tested === undefined || target === undefined) return []
      return [{ uri: tested.uri, range: document.beside(tested.uri, tested.text).range(target.name) }]
    }
    const found = definition(program, offset)
    return (found?.targets ?? []).flatMap(({ name, file }) => {
      if (file === undefined) return [{ uri: document.uri, range: document.range(name) }]
      const uri = uriOf(file.file)
      return uri === undefined ? [] : [{ uri, range: document.beside(uri, file.text).range(name) }]
    })
  },

  "textDocument/references": (document, params, _client, others): Lsp.Location[] => {
    const withDeclaration = at(params, "context", "includeDeclaration") !== false
    const offset = offsetIn(document, params)
    const around = others.filesAround()
    const found = (around && referencesInFiles(around, offset)) ?? referencesAcross(document, offset, others)
    return found
      .filter(({ declares }) => withDeclaration || !declares)
      .map((one) => ({ uri: one.source.document.uri, range: one.source.document.range(one) }))
  },

  "textDocument/documentHighlight": (document, params, _client, { open }): Lsp.DocumentHighlight[] => {
    return referencesAcross(document, offsetIn(document, params), { open, closedTests: () => [] })
      .filter(({ source }) => source.document === document)
      .map((one) => ({ range: document.range(one), kind: one.declares ? 3 : 2 }))
  },

  "textDocument/prepareRename": (document, params, _client, { open, filesAround }): Lsp.PrepareRenameResult => {
    const offset = offsetIn(document, params)
    const around = filesAround()
    const found =
      (around && renamableInFiles(around, offset)) ??
      prepareRenameAcross(document, offset, { open, closedTests: () => [] })
    if ("problem" in found) throw new RpcError("requestFailed", found.problem)
    return { range: document.range(found.span), placeholder: found.name }
  },

  "textDocument/rename": (document, params, client, others): Lsp.WorkspaceEdit => {
    const offset = offsetIn(document, params)
    const newName = stringIn(params, "newName")
    const around = others.filesAround()
    const found = (around && renamedInFiles(around, offset, newName)) ?? renameAcross(document, offset, newName, others)
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

  "textDocument/inlayHint": (document, params): Lsp.InlayHint[] => {
    if (document.isTest) return []
    const span = document.span(rangeIn(params["range"]))
    return inlayHints(document.compiled.program, span).map(({ at: offset, text }) => ({
      position: document.range({ start: offset, end: offset }).start,
      label: text,
      kind: 1,
    }))
  },

  "textDocument/codeLens": (document): Lsp.CodeLens[] => (document.isTest ? testLenses(document) : []),

  "textDocument/semanticTokens/full": (document, _params, client): Lsp.SemanticTokens => {
    return toSemanticTokens(document, semanticTokens(document.compiled.program), client)
  },

  "textDocument/codeAction": (document, params, client, { uriOf }): Lsp.CodeAction[] => {
    const span = document.span(rangeIn(params["range"]))
    const only = at(params, "context", "only")
    const wanted = !Array.isArray(only) || only.some((kind) => kind === "" || kind === "quickfix")
    if (!wanted || !client.literalActions) return []
    const { program, diagnostics } = document.compiled
    const found = codeActions(program, diagnostics, span)
    return found.map((action) => toCodeAction(document, action, client, uriOf))
  },

  "textDocument/formatting": (document): Lsp.TextEdit[] | null => {
    if (document.isTooLarge) return null
    const result = formatText(document.text)
    // Broken text is left alone; the diagnostics say what is wrong with it.
    if ("diagnostics" in result) return null
    const edit = differingPiece(document.text, result.formatted)
    return edit === undefined ? [] : [toTextEdit(document, edit)]
  },

  "textDocument/diagnostic": (document, params, _client, { codePage, uriOf }): Lsp.DocumentDiagnosticReport => {
    const resultId = String(document.id)
    if (params["previousResultId"] === resultId) return { kind: "unchanged", resultId }
    return { kind: "full", resultId, items: diagnosticsOf(document, codePage, uriOf) }
  },
}
