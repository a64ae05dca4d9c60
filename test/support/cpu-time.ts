import assert from "node:assert/strict"

/** Milliseconds of this process's CPU so far: unlike a clock, it does not run while other processes have the core. */
export function cpuTime(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

// What a piece of work needs, it needs at every try. What the garbage collector, the compiler of V8 and a busy machine add differs from
// try to try: so the least of several tries is what counts.

/** Fails if the work takes more than this many milliseconds of CPU at each of five tries. Limits are far above what it takes. */
export async function assertCpuBelow(limit: number, work: () => unknown): Promise<void> {
  const least = await leastCpu(work, limit)
  assert.ok(least < limit, `${least.toFixed(1)} ms of CPU, and ${limit} ms are allowed`)
}

/**
 * Fails if the time grows faster than the size. With sixteen times the size, linear work takes 16 times as long and quadratic work 256
 * times: the limit, 64 times, is as far from the one as from the other.
 */
export async function assertLinear(work: (size: number) => unknown, small: number, large: number): Promise<void> {
  await work(small)
  const factor = large / small
  const least = Math.max(await leastCpu(() => work(small), 0), 1)
  const limit = least * factor * Math.sqrt(factor)
  const taken = await leastCpu(() => work(large), limit)
  assert.ok(taken < limit, `${taken.toFixed(1)} ms for ${factor} times as much as took ${least.toFixed(1)} ms`)
}

/** The least of five tries, or the first that is below what is enough. */
async function leastCpu(work: () => unknown, enough: number): Promise<number> {
  let least = Number.POSITIVE_INFINITY
  for (let tried = 0; tried < 5 && least >= enough; tried++) {
    const before = cpuTime()
    await work()
    least = Math.min(least, cpuTime() - before)
  }
  return least
}
