import { parentPort, workerData } from "node:worker_threads"
import { readFileSync } from "node:fs"
import { Agent, get } from "node:http"
import { setTimeout as wait } from "node:timers/promises"

// Asks `/healthz` again and again, in a thread of its own, and remembers the slowest answer. Time that the service's thread or
// this one spent waiting for a processor is not the service's doing, and is left out: a busy machine changes nothing.

export interface Health {
  readonly answers: number
  readonly failures: number
  /** Milliseconds of the slowest answer, without the time that both sides waited for a processor. */
  readonly worst_ms: number
}

const { address, pid } = workerData as { address: string; pid: number }
const agent = new Agent({ keepAlive: true, maxSockets: 1 })

function ask(): Promise<boolean> {
  return new Promise((resolve) => {
    const request = get(`${address}/healthz`, { agent, timeout: 60_000 }, (response) => {
      response.resume()
      response.once("end", () => resolve(response.statusCode === 200))
      response.once("error", () => resolve(false))
    })
    request.once("timeout", () => request.destroy(new Error("No answer for a minute")))
    request.once("error", () => resolve(false))
  })
}

/** Milliseconds that a thread was ready to run, and had no processor. */
function waited(path: string): number {
  try {
    return Number(readFileSync(path, "utf8").split(" ")[1]) / 1e6
  } catch {
    return 0
  }
}

const waits = (): number => waited(`/proc/${pid}/task/${pid}/schedstat`) + waited("/proc/thread-self/schedstat")

let stopped = false
parentPort?.once("message", () => (stopped = true))

let answers = 0
let failures = 0
let worst_ms = 0
while (!stopped) {
  const started = performance.now()
  const before = waits()
  if (await ask()) answers++
  else failures++
  const waiting = waits() - before
  const took = performance.now() - started - waiting
  worst_ms = Math.max(worst_ms, took)
  await wait(5)
}
agent.destroy()
parentPort?.postMessage({ answers, failures, worst_ms } satisfies Health)
