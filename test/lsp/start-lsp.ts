import type { ChildProcessWithoutNullStreams } from "node:child_process"
import { spawn } from "node:child_process"
import { once } from "node:events"
import type { MessageConnection } from "vscode-jsonrpc/node"
import { createMessageConnection, StreamMessageReader, StreamMessageWriter } from "vscode-jsonrpc/node"
import type { ClientCapabilities, InitializeResult, PublishDiagnosticsParams } from "vscode-languageserver-protocol"
import { within } from "../support/within.ts"
import { builtWire } from "../support/built-wire.ts"

/** `wire lsp` as an editor starts it. */
export function spawnLsp(): ChildProcessWithoutNullStreams {
  return spawn(process.execPath, [builtWire, "lsp", "--stdio"], { stdio: "pipe" })
}

export interface Editor {
  readonly process: ChildProcessWithoutNullStreams
  readonly connection: MessageConnection
  readonly initialized: InitializeResult
  /** What the server has pushed so far. */
  readonly published: readonly PublishDiagnosticsParams[]
  /** Resolves with the diagnostics of this version of a document, when they come. */
  diagnostics(uri: string, version: number | undefined): Promise<PublishDiagnosticsParams>
  ask<T>(method: string, params: object): Promise<T>
  open(uri: string, text: string, version?: number): void
  /** Shuts the server down as the protocol wants; its exit code. */
  end(): Promise<number | null>
}

/** An editor that has started the server and introduced itself. */
export async function startEditor(capabilities: ClientCapabilities): Promise<Editor> {
  const child = spawnLsp()
  const connection = createMessageConnection(
    new StreamMessageReader(child.stdout),
    new StreamMessageWriter(child.stdin),
  )
  const closed = once(child, "close")
  const published: PublishDiagnosticsParams[] = []
  const waiting = new Set<() => void>()
  connection.onNotification("textDocument/publishDiagnostics", (params: PublishDiagnosticsParams) => {
    published.push(params)
    for (const look of waiting) look()
  })
  connection.listen()
  const ask = <T>(method: string, params: object): Promise<T> => {
    return within(30_000, `the answer to ${method}`, connection.sendRequest<T>(method, params))
  }
  const initialized = await ask<InitializeResult>("initialize", { processId: process.pid, rootUri: null, capabilities })
  await connection.sendNotification("initialized", {})
  return {
    process: child,
    connection,
    initialized,
    published,
    ask,
    diagnostics(uri, version) {
      const come = new Promise<PublishDiagnosticsParams>((resolve) => {
        const look = (): void => {
          const found = published.findLast((one) => one.uri === uri && one.version === version)
          if (found === undefined) return
          waiting.delete(look)
          resolve(found)
        }
        waiting.add(look)
        look()
      })
      return within(30_000, `diagnostics of version ${version}`, come)
    },
    open(uri, text, version = 1) {
      void connection.sendNotification("textDocument/didOpen", {
        textDocument: { uri, languageId: "wire", version, text },
      })
    },
    async end() {
      await ask("shutdown", {})
      await connection.sendNotification("exit")
      await within(30_000, "the server's end", closed)
      connection.dispose()
      return child.exitCode
    },
  }
}
