export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number
  /** Resolves after the delay; rejects with the signal's reason when it aborts. */
  sleep(ms: number, signal: AbortSignal): Promise<void>
}
