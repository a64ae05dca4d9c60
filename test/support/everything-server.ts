import type { ChildProcess } from "node:child_process"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { within } from "./within.ts"

const preload = fileURLToPath(new URL("listen-on-loopback.ts", import.meta.url))
const manifest = createRequire(import.meta.url).resolve("@modelcontextprotocol/server-everything/package.json")
const entry = join(dirname(manifest), "dist", "index.js")

export interface EverythingServer {
  readonly child: ChildProcess
  readonly url: string
  readonly port: number
  stop(): Promise<void>
}

/** The protocol's own test server, as a process of its own. */
export async function startEverything(transport: "streamableHttp" | "sse", port = 0): Promise<EverythingServer> {
  const child = spawn(process.execPath, ["--import", preload, entry, transport], {
    env: { ...process.env, PORT: String(port) },
    stdio: ["ignore", "ignore", "pipe"],
  })
  let said = ""
  const bound = new Promise<number>((resolve, reject) => {
    child.stderr.on("data", (chunk: Buffer) => {
      said += chunk.toString()
      const [, found] = /Bound to port (\d+)/.exec(said) ?? []
      if (found !== undefined) resolve(Number(found))
    })
    child.once("exit", () => reject(new Error(`The test server ended before it listened:\n${said}`)))
  })
  const found = await within(30_000, "the test server", bound)
  return {
    child,
    port: found,
    url: `http://127.0.0.1:${found}${transport === "sse" ? "/sse" : "/mcp"}`,
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return
      const ended = once(child, "exit")
      child.kill("SIGKILL")
      await ended
    },
  }
}
