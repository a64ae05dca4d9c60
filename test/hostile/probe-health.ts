import { parentPort, workerData } from "node:worker_threads"
import { readFileSync } from "node:fs"
import { Agent, get } from "node:http"
import { setTimeout as wait } from "node:timers/promises"

// Asks `/healthz` again and again, in a thread of its own, and remembers the slowest answer. On a busy machine most of an answer's
// time is spent waiting for a processor. That is not the service's doing, and is left out: what counts is the time that the service's
// main thread computed between the question and the answer, and no more than the answer took without the waiting.

export interface Health {
  readonly answers: number
  readonly failures: number
  /** Milliseconds of the slowest answer, without waiting for a processor. */
  readonly worst_ms: number
}

const { address, pid } = workerData as { address: string; pid: number }
const agent = new Agent({ keepAlive: false })

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

interface Times {
  /** Milliseconds that the service's main thread computed; unknown where the system does not say. */
  readonly computed: number
  /** Milliseconds that it, or this thread, was ready to run and had no processor. */
  readonly waited: number
}

function times(): Times {
  const service = schedule(`/proc/${pid}/task/${pid}/schedstat`)
  const own = schedule("/proc/thread-self/schedstat")
  return { computed: service?.[0] ?? Number.NaN, waited: (service?.[1] ?? 0) + (own?.[1] ?? 0) }
}

function schedule(path: string): readonly [computed: number, waited: number] | null {
  try {
    const [computed, waited] = readFileSync(path, "utf8").split(" ")
    return [Number(computed) / 1e6, Number(waited) / 1e6]
  } catch {
    return null
  }
}

let stopped = false
parentPort?.once("message", () => (stopped = true))

let answers = 0
let failures = 0
let worst_ms = 0
while (!stopped) {
  const started = performance.now()
  const before = times()
  if (await ask()) answers++
  else failures++
  const after = times()
  const took = performance.now() - started - (after.waited - before.waited)
  const computed = after.computed - before.computed
  worst_ms = Math.max(worst_ms, Number.isNaN(computed) ? took : Math.min(took, computed))
  await wait(5)
}
agent.destroy()
parentPort?.postMessage({ answers, failures, worst_ms } satisfies Health)
