import { parentPort } from "node:worker_threads"
import { readFileSync } from "node:fs"
import { Agent, get } from "node:http"
import { setTimeout as wait } from "node:timers/promises"

// A thread that watches one service after the other. It asks `/healthz` again and again, and remembers the slowest answer. On a busy
// machine most of an answer's time is spent waiting for a processor. That is not the service's doing, and is left out: what counts is
// the time that the service's main thread computed between the question and the answer, and no more than the answer took without the
// waiting.

/** A service to watch until the message `"stop"`, which is answered with its `Health`. */
export interface Watched {
  readonly address: string
  readonly pid: number | undefined
}

export interface Health {
  readonly answers: number
  readonly failures: number
  /** The longest that a question had to wait, in milliseconds without waiting for a processor, had it been asked at the worst moment. */
  readonly worst_ms: number
}

/** Milliseconds between an answer and the next question. Each question is work for the service too. */
const pause_ms = 25
const agent = new Agent({ keepAlive: false })

function ask(address: string): Promise<boolean> {
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

function times(pid: number | undefined): Times {
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

let stopped = true
parentPort?.on("message", (message: Watched | "stop") => {
  if (message === "stop") stopped = true
  else void watch(message)
})

async function watch({ address, pid }: Watched): Promise<void> {
  stopped = false
  let answers = 0
  let failures = 0
  let worst_ms = 0
  while (!stopped) {
    const started = performance.now()
    const before = times(pid)
    if (await ask(address)) answers++
    else failures++
    const after = times(pid)
    const took = performance.now() - started - (after.waited - before.waited)
    const computed = after.computed - before.computed
    worst_ms = Math.max(worst_ms, Number.isNaN(computed) ? took : Math.min(took, computed))
    await wait(pause_ms)
  }
  // The service may have been busy during all of the pause before the slowest question.
  parentPort?.postMessage({ answers, failures, worst_ms: worst_ms + pause_ms } satisfies Health)
}
