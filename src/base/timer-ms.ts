/** Node's timers take at most 31 bits: a longer delay fires at once. */
export const longestTimerMs = 0x7fff_ffff

/** What a timer can be set to that comes from a workflow or a server: 24 days are as good as any longer time. */
export function timerMs(ms: number): number {
  return Math.min(ms, longestTimerMs)
}
