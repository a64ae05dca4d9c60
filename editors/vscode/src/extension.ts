import { existsSync } from "node:fs"
import { join } from "node:path"
import type { Definition, ExtensionContext, Position, TextDocument } from "vscode"
import { commands, languages, ProcessExecution, Task, TaskScope, tasks, window, workspace } from "vscode"
import type { ServerOptions } from "vscode-languageclient/node"
import { DefinitionRequest, LanguageClient, TransportKind } from "vscode-languageclient/node"
import type { ServerCommand } from "./server-commands.ts"
import { serverCommands } from "./server-commands.ts"

let client: LanguageClient | undefined

export async function activate(context: ExtensionContext): Promise<void> {
  // One start after the other: a request during a start waits for it.
  let starting = Promise.resolve()
  const restart = (): Promise<void> => (starting = starting.then(() => start(context)))
  context.subscriptions.push(
    commands.registerCommand("wire.restartServer", restart),
    commands.registerCommand("wire.runTest", runTest),
    commands.registerCommand("wire.recordTest", runTest),
    // From an export of a code file to the functions that are declared with it.
    languages.registerDefinitionProvider(codeFiles, { provideDefinition: declarationsOf }),
    workspace.onDidGrantWorkspaceTrust(() => void restart()),
    workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration("wire.server.command")) void restart()
    }),
  )
  await restart()
}

const codeFiles = ["javascript", "typescript"].map((language) => ({ language, scheme: "file" }))

async function declarationsOf(document: TextDocument, position: Position): Promise<Definition | undefined> {
  if (client?.isRunning() !== true) return undefined
  const params = client.code2ProtocolConverter.asTextDocumentPositionParams(document, position)
  const found = await client.sendRequest(DefinitionRequest.type, params).catch(() => null)
  return (await client.protocol2CodeConverter.asDefinitionResult(found)) as Definition | undefined
}

export async function deactivate(): Promise<void> {
  await client?.dispose()
}

/** Starts the first server that starts. */
async function start(context: ExtensionContext): Promise<void> {
  await client?.dispose()
  client = undefined
  const ways = serverCommands({
    configured: workspace.getConfiguration("wire").get<string[]>("server.command") ?? [],
    trusted: workspace.isTrusted,
    folders: (workspace.workspaceFolders ?? []).filter(({ uri }) => uri.scheme === "file").map(({ uri }) => uri.fsPath),
    bundled: context.asAbsolutePath("server.mjs"),
    platform: process.platform,
    exists: existsSync,
  })
  for (const way of ways) {
    const tried = new LanguageClient("wire", "Wire", serverOptions(way), { documentSelector: [{ language: "wire" }] })
    try {
      await tried.start()
      client = tried
      return
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      const name = way.kind === "program" ? way.command : "the extension's own server"
      void window.showWarningMessage(`The language server of Wire did not start (${name}): ${reason}`)
    }
  }
}

/** What a lens above a test says to run. */
interface LensArgument {
  readonly title: string
  readonly command: readonly string[]
}

/** Runs a test as a task, without a shell: the title comes from the file. */
async function runTest({ title, command: [, ...args] }: LensArgument): Promise<void> {
  if (!workspace.isTrusted) {
    void window.showWarningMessage("Tests run in a workspace that is trusted.")
    return
  }
  const own = (workspace.workspaceFolders ?? [])
    .map(({ uri }) => join(uri.fsPath, "node_modules", ".bin", "wire"))
    .find((path) => existsSync(path))
  const execution = new ProcessExecution(own ?? "wire", args)
  await tasks.executeTask(new Task({ type: "wire" }, TaskScope.Workspace, title, "wire test", execution))
}

function serverOptions(way: ServerCommand): ServerOptions {
  if (way.kind === "script") return { module: way.path, transport: TransportKind.stdio }
  const { command, args, shell } = way
  return { command, args: [...args], transport: TransportKind.stdio, options: { shell } }
}
