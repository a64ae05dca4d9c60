export interface Clock {
  /** Milliseconds since the epoch: the store's time in a service, else that of the machine. May jump in either direction when that clock is set. */
  now(): number
  /**
   * Milliseconds from an arbitrary start, for durations: never jumps, and keeps going while the process is stopped. All
   * processes of a machine have the same start, until the machine restarts.
   */
  monotonic(): number
  /** The wall clock of this machine, where `now` is not that. It shows that the machine has slept; nothing is decided by it. */
  wall?(): number
  /** Resolves after the delay; rejects with the signal's reason when it aborts. */
  sleep(ms: number, signal: AbortSignal): Promise<void>
}

/** A moment, by both clocks. */
export interface Instant {
  readonly wall: number
  readonly monotonic: number
}

export function instant(clock: Clock): Instant {
  return { wall: wallOf(clock), monotonic: clock.monotonic() }
}

/**
 * The most time that may have passed. While a machine sleeps its monotonic clock may stand still, so the wall clock is asked
 * too: setting that one makes the result too long, never too short.
 */
export function maxElapsed(clock: Clock, since: Instant): number {
  return Math.max(clock.monotonic() - since.monotonic, Math.abs(wallOf(clock) - since.wall))
}

/** The wall clock of this machine. */
export function wallOf(clock: Clock): number {
  return clock.wall?.() ?? clock.now()
}

/** In whole milliseconds, as databases have them, and never early. */
export function leaseEnd(clock: Clock, leaseMs: number): number {
  return Math.ceil(clock.monotonic() + leaseMs)
}
