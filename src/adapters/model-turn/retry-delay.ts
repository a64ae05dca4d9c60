/** Waits are never longer, whatever a backend asks for. */
export const longestWait = 60_000
const longestBackoff = 30_000

/**
 * How long to wait before the next attempt: as long as the backend says, else a random time below a bound that doubles
 * with each retry ("full jitter"), so that callers who failed together do not come back together.
 */
export function retryDelay(retry: number, baseMs: number, retryAfterMs: number | null, fraction: number): number {
  if (retryAfterMs !== null) return Math.min(retryAfterMs, longestWait)
  return Math.round(fraction * Math.min(longestBackoff, baseMs * 2 ** Math.min(retry, 20)))
}

/** Milliseconds from now that the headers ask to wait; null when they do not say. */
export function readRetryAfter(headers: Readonly<Record<string, string>>, now: number): number | null {
  const precise = headers["retry-after-ms"]
  if (precise !== undefined && /^\d+(\.\d+)?$/.test(precise.trim())) return Number(precise)
  const value = headers["retry-after"]?.trim()
  if (value === undefined || value === "") return null
  if (/^\d+(\.\d+)?$/.test(value)) return Number(value) * 1000
  const date = Date.parse(value)
  return Number.isNaN(date) ? null : Math.max(0, date - now)
}
