import type { ChildProcess } from "node:child_process"
import { spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { readdirSync, readFileSync } from "node:fs"
import { availableParallelism } from "node:os"
import { text } from "node:stream/consumers"

/** Servers under test have one core, everything else (load, backend, this process) the others. */
export const pinned = availableParallelism() > 1 && spawnSync("taskset", ["--version"]).status === 0

/** `any`: wherever the system puts it. */
export type Core = "server" | "load" | "any"

function command(core: Core, args: readonly string[]): [string, string[]] {
  const [first = "", ...rest] = args
  if (!pinned || core === "any") return [first, rest]
  return ["taskset", ["-c", core === "server" ? "0" : `1-${availableParallelism() - 1}`, ...args]]
}

export class BenchProcess {
  readonly child: ChildProcess
  readonly address: string

  private constructor(child: ChildProcess, address: string) {
    this.child = child
    this.address = address
  }

  /** Starts a server, and waits for the address that it prints. */
  static async start(
    core: Core,
    args: readonly string[],
    env: Readonly<Record<string, string>> = {},
  ): Promise<BenchProcess> {
    const [file, rest] = command(core, args)
    const child = spawn(file, rest, { stdio: ["ignore", "pipe", "ignore", "ipc"], env: { ...process.env, ...env } })
    let output = ""
    const address = await new Promise<string>((resolve, reject) => {
      child.stdout?.on("data", (chunk: Buffer) => {
        output += chunk.toString()
        const found = /http:\/\/127\.0\.0\.1:\d+/.exec(output)?.[0]
        if (found !== undefined) resolve(found)
      })
      child.once("exit", (code) => reject(new Error(`${args.join(" ")} ended with ${code}`)))
    })
    return new BenchProcess(child, address)
  }

  get pid(): number {
    return this.child.pid ?? 0
  }

  /** Bytes of memory that are its own. */
  memory(): number {
    return residentBytes(this.child.pid)
  }

  /** The most that it had so far. */
  peakMemory(): number {
    return residentBytes(this.child.pid, "VmHWM")
  }

  async stop(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return
    const ended = once(this.child, "exit")
    this.child.kill("SIGTERM")
    await ended
  }
}

/** Seconds that a process was on a CPU so far, all its threads and the processes that it started together. */
export function cpuSeconds(pid: number): number {
  const folder = `/proc/${pid}/task`
  let seconds = 0
  for (const thread of readdirSync(folder)) {
    seconds += Number(readFileSync(`${folder}/${thread}/schedstat`, "utf8").split(" ")[0]) / 1e9
  }
  for (const child of childrenOf(pid)) seconds += cpuSeconds(child)
  return seconds
}

function childrenOf(pid: number): number[] {
  const folder = `/proc/${pid}/task`
  return readdirSync(folder).flatMap((thread) =>
    readFileSync(`${folder}/${thread}/children`, "utf8").split(" ").filter(Boolean).map(Number),
  )
}

export function residentBytes(pid: number | undefined, field: "VmRSS" | "VmHWM" = "VmRSS"): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8")
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, "m").exec(status)?.[1]) * 1024
}

/** Runs a program to its end beside the servers, and gives what it printed. */
export async function runBeside(args: readonly string[], core: Core = "load"): Promise<string> {
  const [file, rest] = command(core, args)
  const child = spawn(file, rest, { stdio: ["ignore", "pipe", "inherit"] })
  const [printed, [code]] = await Promise.all([text(child.stdout), once(child, "exit")])
  if (code !== 0) throw new Error(`${args[1]} ended with ${String(code)}`)
  return printed
}
