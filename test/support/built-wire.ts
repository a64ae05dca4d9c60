import { spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { createInterface } from "node:readline"
import { buildCommand, sourceStamp } from "../../scripts/build.mjs"
import { madeOnce } from "./made-once.ts"

/** The command, to be started with Node: the bundle of the sources as they are, with what the package has besides, because what is tested is what ships. */
export const builtWire = join(await madeOnce("bundle", sourceStamp(), buildCommand), "wire.js")

// A process leaves its compiled code for the next when it ends. Most services of the tests are killed, so one ends first.
if (!existsSync(join(dirname(builtWire), ".compiled"))) await serveOnce()

async function serveOnce(): Promise<void> {
  const data = mkdtempSync(join(tmpdir(), "wireworks-first-"))
  const env = { PATH: process.env["PATH"] ?? "", WIRE_PORT: "0", WIRE_DATA_DIR: data }
  const child = spawn(process.execPath, [builtWire, "serve"], { env, stdio: ["ignore", "pipe", "inherit"] })
  const ended = once(child, "close")
  for await (const line of createInterface(child.stdout)) if (line.includes("listens on")) child.kill("SIGTERM")
  const [code] = (await ended) as [number | null]
  rmSync(data, { recursive: true })
  if (code !== 0) throw new Error(`The service that was built ended with ${String(code)}.`)
}
