/**
 * Milliseconds of CPU that the longest turn of this thread's event loop took while something was done. Unlike a clock this does not
 * count the time in which other processes had the core.
 */
export async function longestTurn(work: () => Promise<unknown>): Promise<number> {
  let longest = 0
  let over = false
  let before = threadTime()
  const tick = (): void => {
    const now = threadTime()
    longest = Math.max(longest, now - before)
    before = now
    if (!over) setTimeout(tick, 2)
  }
  setTimeout(tick, 2)
  try {
    await work()
  } finally {
    over = true
  }
  await new Promise((resolve) => setTimeout(resolve, 10))
  return longest
}

function threadTime(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}
