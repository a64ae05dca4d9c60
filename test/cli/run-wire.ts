import { spawn } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { text } from "node:stream/consumers"
import { after } from "node:test"

const entry = join(import.meta.dirname, "..", "..", "src", "cli", "wire.ts")

export interface Ended {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

export interface RunOptions {
  readonly cwd?: string
  readonly input?: string | Uint8Array
  readonly env?: Readonly<Record<string, string>>
}

/** Runs `wire` as a user does: a process of its own, from the sources. */
export async function runWire(args: readonly string[], options: RunOptions = {}): Promise<Ended> {
  const { FORCE_COLOR: _force, NO_COLOR: _no, ...environment } = process.env
  const child = spawn(process.execPath, [entry, ...args], {
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
