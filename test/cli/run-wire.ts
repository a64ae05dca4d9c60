import type { Buffer } from "node:buffer"
import type { ChildProcess } from "node:child_process"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { text } from "node:stream/consumers"
import { after } from "node:test"
import { builtWire } from "../support/built-wire.ts"

export interface Ended {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

export interface RunOptions {
  readonly cwd?: string
  readonly input?: string | Uint8Array
  readonly env?: Readonly<Record<string, string>>
  /** A command that runs the command after it, such as `permissionsApply`. */
  readonly by?: readonly string[]
}

/** Runs `wire` as a user does: a process of its own. */
export async function runWire(args: readonly string[], options: RunOptions = {}): Promise<Ended> {
  const { FORCE_COLOR: _force, NO_COLOR: _no, ...environment } = process.env
  const [command = "", ...rest] = [...(options.by ?? []), process.execPath, builtWire, ...args]
  const child = spawn(command, rest, {
    cwd: options.cwd,
    env: { ...environment, ...options.env },
    stdio: ["pipe", "pipe", "pipe"],
  })
  child.stdin.on("error", () => {}) // It may end without reading.
  child.stdin.end(options.input)
  const closed = new Promise<number | null>((resolve, reject) => {
    child.on("error", reject)
    child.on("close", resolve)
  })
  const [code, out, err] = await Promise.all([closed, text(child.stdout), text(child.stderr)])
  return { code, out, err }
}

/** A folder with these files, deleted after the tests of this file. */
export function folderWith(files: Readonly<Record<string, string | Uint8Array>>): string {
  const folder = mkdtempSync(join(tmpdir(), "wireworks-cli-"))
  after(() => rmSync(folder, { recursive: true, force: true }))
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), content)
  }
  return folder
}

export interface Started {
  readonly child: ChildProcess
  /** `http://127.0.0.1:…` */
  readonly address: string
  /** What it has written so far. */
  output(): string
  readonly ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>
}

/** Starts `wire` with a service, and waits until it says where it listens. */
export function startWire(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Started> {
  return startService(process.execPath, [builtWire, ...args], env)
}

/** Starts a command that runs the service, and waits until it says where it listens. Killed after the tests if need be. */
export async function startService(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Started> {
  const child = spawn(command, args, { env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "pipe"] })
  after(() => child.kill("SIGKILL"))
  let output = ""
  const listening = new Promise<string>((resolve) => {
    const read = (chunk: Buffer): void => {
      output += chunk.toString()
      const found = /listens on (\S+)/.exec(output)?.[1]
      if (found !== undefined) resolve(found)
    }
    child.stdout.on("data", read)
    child.stderr.on("data", read)
  })
  const ended = once(child, "close").then(([code, signal]) => ({
    code: code as number | null,
    signal: signal as NodeJS.Signals | null,
  }))
  const failed = ended.then(({ code }): never => {
    throw new Error(`Ended with code ${code} before it listened:\n${output}`)
  })
  failed.catch(() => {}) // It ends some time after it listened.
  const address = await Promise.race([listening, failed])
  return { child, address, output: () => output, ended }
}
