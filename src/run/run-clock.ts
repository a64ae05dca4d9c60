import type { Clock } from "../ports/clock.ts"

/**
 * The time of one run. It begins at the store's time, or at `notBefore` (when the run was created, the last event of its log)
 * if that is later, and from there it follows the monotonic clock. So the times of a run's events never go
 * back, and their differences are durations, whatever happens to the wall clock.
 */
export function runClock(clock: Clock, notBefore: number): Clock {
  const start = Math.max(clock.now(), notBefore) - clock.monotonic()
  return {
    now: () => Math.floor(start + clock.monotonic()),
    monotonic: () => clock.monotonic(),
    sleep: (ms, signal) => clock.sleep(ms, signal),
  }
}
