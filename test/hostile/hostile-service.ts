import { spawn } from "node:child_process"
import type { ChildProcess } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Worker } from "node:worker_threads"
import { builtWire } from "../support/built-wire.ts"
import { within } from "../support/within.ts"
import type { Health, Watched } from "./probe-health.ts"

/** What came of one request of the attacker's. */
export interface Answer {
  readonly status: number
  /** The error's kind; null for an answer without an error. */
  readonly kind: string | null
  readonly text: string
}

/** The thread that watches; one for all services, since it takes a while to start. */
let idleProbe: Worker | null = null

function takeProbe(): Worker {
  const probe = idleProbe ?? new Worker(new URL("probe-health.ts", import.meta.url))
  idleProbe = null
  probe.ref()
  return probe
}

function giveBack(probe: Worker): void {
  probe.unref()
  idleProbe = probe
}

/** The built service as a process of its own, with little memory, an attacker's key and another caller's. */
export class HostileService {
  readonly #folder = mkdtempSync(join(tmpdir(), "wireworks-hostile-"))
  readonly #settings: Readonly<Record<string, string>>
  readonly #probes = new Set<Worker>()
  #child: ChildProcess | null = null
  #output = ""
  address = ""

  constructor(settings: Readonly<Record<string, string>> = {}) {
    this.#settings = settings
  }

  get port(): number {
    return Number(new URL(this.address).port)
  }

  async start(): Promise<void> {
    const env = {
      PATH: process.env["PATH"] ?? "",
      WIRE_PORT: "0",
      WIRE_DATA_DIR: this.#folder,
      WIRE_LOG_LEVEL: "error",
      WIRE_API_KEYS: "mallory:attacker,bob:other",
      ...this.#settings,
    }
    const child = spawn(process.execPath, ["--max-old-space-size=512", builtWire, "serve"], { env, stdio: "pipe" })
    this.#child = child
    this.#output = ""
    const listening = new Promise<string>((resolve, reject) => {
      const read = (chunk: Buffer): void => {
        this.#output = (this.#output + chunk.toString()).slice(-20_000)
        const found = /listens on (\S+)/.exec(this.#output)?.[1]
        if (found !== undefined) resolve(found)
      }
      child.stdout.on("data", read)
      child.stderr.on("data", read)
      child.once("exit", (code, signal) => reject(new Error(`It ended (${code ?? signal}):\n${this.#output}`)))
    })
    this.address = await within(60_000, "the start of the service", listening)
  }

  /** What the process wrote last. */
  get output(): string {
    return this.#output
  }

  get isRunning(): boolean {
    return this.#child !== null && this.#child.exitCode === null && this.#child.signalCode === null
  }

  /** `kill -9`. */
  async kill(): Promise<void> {
    const child = this.#child
    if (child === null || !this.isRunning) return
    const gone = once(child, "exit")
    child.kill("SIGKILL")
    await gone
  }

  async close(): Promise<void> {
    await this.kill()
    // One whose watch nobody ended would keep the tests' process alive.
    for (const probe of this.#probes) await probe.terminate()
    rmSync(this.#folder, { recursive: true, force: true })
  }

  /** The most memory that the process has had so far, in MiB; 0 where the system does not say. */
  maxMemory(): number {
    try {
      const status = readFileSync(`/proc/${this.#child?.pid}/status`, "utf8")
      return Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) / 1024
    } catch {
      return 0
    }
  }

  /** A request with the attacker's key. */
  send(path: string, init: RequestInit & { readonly headers?: Record<string, string> } = {}): Promise<Answer> {
    return this.#request("attacker", path, init)
  }

  post(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    const text = typeof body === "string" ? body : JSON.stringify(body)
    return this.send(path, { method: "POST", headers: { "content-type": "application/json", ...headers }, body: text })
  }

  /** Runs a workflow with the attacker's key so that a restart resumes it; the outcome is that of the run. */
  execute(workflow_source: string, more: Readonly<Record<string, unknown>> = {}): Promise<Answer> {
    return this.post("/execute", { workflow_source, ...more }, { "idempotency-key": crypto.randomUUID() })
  }

  /** A run of the other caller's, from the request to its answer. */
  async otherRun(workflow_source = greeting, input: Readonly<Record<string, string>> = { name: "Ada" }): Promise<void> {
    const body = JSON.stringify({ workflow_source, input })
    const init = { method: "POST", headers: { "content-type": "application/json" }, body }
    const { status, text } = await within(60_000, "another caller's run", this.#request("other", "/execute", init))
    if (status !== 200) throw new Error(`Another caller's run ended with ${status}: ${text.slice(0, 500)}`)
  }

  async #request(
    key: string,
    path: string,
    init: Omit<RequestInit, "headers"> & { readonly headers?: Record<string, string> },
  ): Promise<Answer> {
    const headers = { authorization: `Bearer ${key}`, ...init.headers }
    const response = await fetch(`${this.address}${path}`, { ...init, headers })
    const text = await response.text()
    return { status: response.status, kind: kindOf(response, text), text }
  }

  /** Watches `/healthz` until the returned function is called. */
  watch(): () => Promise<Health> {
    const probe = takeProbe()
    this.#probes.add(probe)
    probe.postMessage({ address: this.address, pid: this.#child?.pid } satisfies Watched)
    return async () => {
      const reported = once(probe, "message")
      probe.postMessage("stop")
      const [health] = (await within(90_000, "the last answer of /healthz", reported)) as [Health]
      this.#probes.delete(probe)
      giveBack(probe)
      return health
    }
  }
}

function kindOf(response: Response, text: string): string | null {
  if (response.ok) return null
  try {
    const { error } = JSON.parse(text) as { error: { kind?: string; code?: string } }
    return error.kind ?? error.code ?? "without a kind"
  } catch {
    return "not JSON"
  }
}

const greeting = `input { name: string }
provider demo from openai { endpoint: "demo" }
model small from demo { id: "demo" }
agent reply { model: model.small instruction: "Greet {{ input.name }}." output { message: string } }
output { message: agent.reply.message }
`
