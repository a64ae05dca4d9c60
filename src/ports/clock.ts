export interface Clock {
  /** Milliseconds since the epoch. May jump in either direction when the system's clock is set. */
  now(): number
  /** Milliseconds from an arbitrary start, for durations: never jumps, and keeps going while the process is stopped. */
  monotonic(): number
  /** Resolves after the delay; rejects with the signal's reason when it aborts. */
  sleep(ms: number, signal: AbortSignal): Promise<void>
}
