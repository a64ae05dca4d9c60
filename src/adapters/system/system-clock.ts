import type { Clock } from "../../ports/clock.ts"

/** Timers of Node take 31 bits of milliseconds; a longer wait is made of several. */
const longest = 0x7fff_ffff

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => Number(process.hrtime.bigint()) / 1e6,
  sleep: async (ms, signal) => {
    for (let left = ms; left > longest; left -= longest) await timer(longest, signal)
    await timer(Math.max(0, ms > longest ? ms % longest : ms), signal)
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
