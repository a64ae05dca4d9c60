import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { join } from "node:path"
import type { LogEvent } from "../../src/log/events.ts"
import type { RunStore } from "../../src/ports/store.ts"
import { builtProgram } from "../support/built-programs.ts"
import { within } from "../support/within.ts"
import { openStore, defaultLeaseMs } from "./service.ts"
import type { WorkflowName } from "./workflows.ts"

export interface ChildOptions {
  readonly workflow: WorkflowName
  readonly place: string
  /** The server that the model and the tools are called at. */
  readonly origin: string
  /** After so many it kills itself; 0: never. */
  readonly appends: number
  readonly leaseMs?: number
  /** The run to continue; without it a new one starts. */
  readonly run_id?: string
  /** Where the compiled code is kept for the next child, unless the environment says where. */
  readonly folder: string
}

export interface Life {
  /** The id of the new run, as soon as the process knows it. */
  readonly run: Promise<string>
  /** Whether it was killed. */
  readonly killed: Promise<boolean>
}

/** Starts a process that works on one run. */
export function startChild(options: ChildOptions): Life {
  const { workflow, place, origin, appends, leaseMs = defaultLeaseMs, run_id, folder } = options
  const args = [builtProgram("crash-child"), workflow, place, origin, String(appends), String(leaseMs)]
  const env = { NODE_COMPILE_CACHE: join(folder, "compiled"), ...process.env }
  const child = spawn(process.execPath, run_id === undefined ? args : [...args, run_id], {
    stdio: ["ignore", "pipe", "pipe"],
    env,
  })
  const run = Promise.withResolvers<string>()
  let out = ""
  let errors = ""
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    out += text
    if (out.includes("\n")) run.resolve(out.slice(0, out.indexOf("\n")))
  })
  child.stderr.setEncoding("utf8").on("data", (text: string) => (errors += text))
  const killed = once(child, "close").then(([code, signal]) => {
    assert.equal(errors, "")
    assert.ok(code === 0 || signal === "SIGKILL", `exit code ${String(code)}`)
    return signal === "SIGKILL"
  })
  return { run: run.promise, killed: within(60_000, "the child's end", killed) }
}

export async function logIn(store: RunStore, run_id: string): Promise<LogEvent[]> {
  const events: LogEvent[] = []
  for (;;) {
    const page = await store.read(run_id, events.length, 500)
    if (page.length === 0) return events
    events.push(...page)
  }
}

/** The log of a run whose process has ended. */
export async function logOf(place: string, run_id: string): Promise<LogEvent[]> {
  const store = await openStore(place)
  try {
    return await logIn(store, run_id)
  } finally {
    await store.close()
  }
}
