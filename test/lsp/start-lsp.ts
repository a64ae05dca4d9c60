import type { ChildProcessWithoutNullStreams } from "node:child_process"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { after } from "node:test"
import { isDeepStrictEqual } from "node:util"
import type { MessageConnection } from "vscode-jsonrpc/node"
import { createMessageConnection, StreamMessageReader, StreamMessageWriter } from "vscode-jsonrpc/node"
import type { ClientCapabilities, InitializeResult, PublishDiagnosticsParams } from "vscode-languageserver-protocol"
import { within } from "../support/within.ts"
import { builtWire } from "../support/built-wire.ts"

/** `wire lsp` as an editor starts it. */
export function spawnLsp(): ChildProcessWithoutNullStreams {
  return spawn(process.execPath, [builtWire, "lsp", "--stdio"], { stdio: "pipe" })
}

/** One that a failed test leaves behind would keep the test process alive: it is killed after the test. */
function spawnForTest(): ChildProcessWithoutNullStreams {
  const child = spawnLsp()
  after(() => void child.kill("SIGKILL"))
  return child
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
  const child = spawnForTest()
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

/** A message of the server, as a test reads it. */
export interface Said {
  readonly id?: number
  readonly result?: unknown
  readonly error?: { readonly message: string }
  readonly params?: {
    readonly uri: string
    readonly diagnostics: readonly {
      readonly code: string
      readonly message: string
      readonly codeDescription?: unknown
    }[]
  }
}

export interface Talk {
  readonly send: (message: object) => void
  /** The last message that fits, when it has come. */
  readonly until: (matches: (one: Said) => boolean) => Promise<Said>
  /** Resolves when these are the codes of the last diagnostics of a document. */
  readonly untilCodes: (uri: string, codes: readonly string[]) => Promise<void>
  readonly answer: (method: string, params: object) => Promise<Said>
  readonly ask: <T>(method: string, params: object) => Promise<T>
  readonly open: (uri: string, text: string) => void
}

/** A server that has been told nothing yet, message by message. It ends with the test file. */
export function startTalk(): Talk {
  const child = spawnForTest()
  child.stderr.pipe(process.stderr)
  const said: Said[] = []
  const listeners = new Set<() => void>()
  new StreamMessageReader(child.stdout).listen((message) => {
    said.push(message as Said)
    for (const listener of listeners) listener()
  })
  const send = (message: object): void => {
    const text = JSON.stringify({ jsonrpc: "2.0", ...message })
    child.stdin.write(`Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`)
  }
  const when = <T>(what: string, find: () => T | undefined): Promise<T> => {
    const come = new Promise<T>((resolve) => {
      const look = (): void => {
        const found = find()
        if (found === undefined) return
        listeners.delete(look)
        resolve(found)
      }
      listeners.add(look)
      look()
    })
    return within(30_000, what, come)
  }
  const until = (matches: (one: Said) => boolean): Promise<Said> =>
    when("what the server says", () => said.findLast(matches))
  let asked = 0
  const answer = (method: string, params: object): Promise<Said> => {
    const id = ++asked
    send({ id, method, params })
    return until((one) => one.id === id)
  }
  return {
    send,
    until,
    untilCodes: async (uri, codes) => {
      await when(`the codes ${codes.join(", ")}`, () => {
        const last = said.findLast(({ params }) => params?.uri === uri)?.params?.diagnostics.map(({ code }) => code)
        return isDeepStrictEqual(last, codes) || undefined
      })
    },
    answer,
    ask: async <T>(method: string, params: object) => (await answer(method, params)).result as T,
    open: (uri, text) =>
      send({ method: "textDocument/didOpen", params: { textDocument: { uri, languageId: "wire", version: 1, text } } }),
  }
}
