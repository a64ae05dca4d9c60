import { longestTimerMs } from "../../base/timer-ms.ts"
import type { Clock } from "../../ports/clock.ts"

/** `performance.now()` begins with the process. Its first call takes milliseconds, which must not be between the two. */
performance.now()
const processStart = Number(process.hrtime.bigint()) / 1e6 - performance.now()

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => processStart + performance.now(),
  sleep: async (ms, signal) => {
    for (let left = ms; left > longestTimerMs; left -= longestTimerMs) await timer(longestTimerMs, signal)
    await timer(Math.max(0, ms > longestTimerMs ? ms % longestTimerMs : ms), signal)
  },
}

function timer(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason as Error)
    const stop = (): void => {
      clearTimeout(timeout)
      reject(signal.reason as Error)
    }
    const timeout = setTimeout(() => {
      signal.removeEventListener("abort", stop)
      resolve()
    }, ms)
    signal.addEventListener("abort", stop, { once: true })
  })
}
